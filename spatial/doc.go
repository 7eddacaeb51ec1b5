// Package spatial will re-create a published load test of a PostGIS radius
// search under 150 users, with row logging and pool size as toggles
// (github.com/jackc/pgx/v5).
//
// It offers no experiment yet: `latlab list` does not name it, and nothing in
// this module measures or models anything.
package spatial
