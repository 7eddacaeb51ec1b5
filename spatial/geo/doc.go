// Package geo measures distances on the WGS84 ellipsoid and finds the places
// near a point, as PostGIS does for its type geography.
//
//  1. [At] turns degrees into a [Point], which keeps what every distance needs.
//  2. [Spheroid] is the shortest distance on the ellipsoid (ST_Distance), and
//     [Sphere] that on a sphere of the mean radius (the operator <->).
//  3. An [Index] holds the points of a table in an R-tree. It yields those within
//     a radius, counts them, or yields all from the nearest on.
//
// # Agreement with PostGIS
//
// PostGIS measures with GeographicLib, which is right to some nanometres.
// [Spheroid] iterates Vincenty's formulas (Survey Review 23, 1975), whose series
// stop after the third power of the flattening; the tests hold it against the
// defining integrals, from which it differs by less than 0.1 mm anywhere.
// Vincenty's iteration doesn't end for points that nearly face each other, so
// within two degrees of the antipode the integrals themselves are solved.
//
// Everything here is a plain value or is not changed once made, and may be used
// by any number of goroutines.
package geo
