package spatial

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrDSN occurs when a connection string can't be read. The error says as much of
// the reason as can't hold a password.
var ErrDSN = errors.New("not a connection string (which isn't shown, since it may hold a password)")

// reasons are what pgx says that repeats nothing of the connection string.
var reasons = []string{"failed to parse as URL", "failed to parse as keyword/value", "invalid port", "failed to configure TLS", "failed to read service", "invalid connect_timeout"}

// ParsePool is pgxpool.ParseConfig with an error that can be shown to anyone. pgx
// masks the password in its own, where it knows which part that is; what can't be
// read has no parts.
func ParsePool(dsn string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err == nil {
		return cfg, nil
	}
	why := "write postgres://user@host:5432/database, or host=... user=... dbname=..."
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) {
		said := err.Error()
		said = said[strings.LastIndex(said, "`: ")+1:]
		for _, r := range reasons {
			if strings.HasPrefix(said, ": "+r) {
				why = r + "; " + why
			}
		}
	}
	return nil, fmt.Errorf("spatial: %w: %s", ErrDSN, why)
}

var passwordWord = regexp.MustCompile(`\bpassword\s*=\s*('(?:[^'\\]|\\.)*'|\S*)`)

// WithoutPassword is a connection string for another program's arguments, which
// every user of the host can read: that program takes the password from its
// environment, PGPASSWORD.
func WithoutPassword(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme == "" {
		return passwordWord.ReplaceAllLiteralString(dsn, "")
	}
	if _, has := u.User.Password(); has {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	if q.Has("password") {
		q.Del("password")
		u.RawQuery = q.Encode()
	}
	return u.String()
}
