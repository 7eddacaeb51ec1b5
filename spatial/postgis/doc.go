// Package postgis runs a private PostgreSQL with PostGIS in a folder and loads
// the case's data into it.
//
//  1. [Find] looks for the programs of an installed PostgreSQL. Nothing is
//     installed.
//  2. [Up] makes a cluster in the folder, starts it on a socket there, makes
//     database latlab with the extension, and loads the data. Each step is skipped
//     if an earlier run did it, so that one that was killed goes on where it was.
//  3. [Cluster.Down] stops it. The data stay in the folder.
//
// The server belongs to the caller, or to user postgres if the caller is root,
// since PostgreSQL refuses root. It listens on no network: who may enter the
// folder may connect. It doesn't wait for the disk (fsync is off), since the case
// only reads, and a killed process loses nothing by that; a crash of the host
// may, and then the folder is to be deleted.
package postgis
