// Package spatial re-creates a published load test of a PostGIS radius search
// under 150 users, with row logging and pool size as toggles
// (github.com/jackc/pgx/v5).
package spatial
