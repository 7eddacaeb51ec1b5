// Package fake is a PostgreSQL with PostGIS in memory that takes its time: the
// real pgx, pgxpool and psql connect to it.
//
//  1. [New] listens, on loopback or where [Config].Listen says: an in-memory
//     network in a testing/synctest bubble. A connection speaks protocol version
//     3, simple and extended, text and binary (session.go).
//  2. It knows the statements of package spatial by their text, whatever blanks
//     and literals stand in it (statements.go), and little else: transactions,
//     SET, SHOW, DEALLOCATE, pg_sleep and their like. Any other statement gets a
//     SQL error that says so.
//  3. Answers come from a [data.Set], the same data that is loaded into PostGIS,
//     with the distances of package geo. Those of searches are kept.
//  4. A statement costs [Cost] on one of the server's cores, where statements
//     queue, and then [Config].Hold beside them. All waits go through the rig's
//     waiter or CPU; the work of the fake itself is done within them.
//  5. Faults act on schedule ([Config].Faults); [Server.Stop] and [Server.Start]
//     restart it; there is a connection limit; cancel requests are served, late
//     if wanted; and connections can share backends as behind a transaction
//     pooler.
//
// It isn't a database: nothing can be written, there are no locks, roles,
// passwords, TLS, COPY, cursors in SQL or catalogs.
package fake
