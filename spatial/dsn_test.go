package spatial_test

import (
	"errors"
	"strings"
	"testing"

	"latlab.example/spatial"
)

// No error shows the password, however wrong the rest is, or where it stands.
func TestErrorsHideTheDSN(t *testing.T) {
	for _, dsn := range []string{
		"postgres://u:sekret@host:port/db", "postgres://u:se/kret@host/db", "postgres://u:sekret%zz@host/db", "postgres://u:pass@sekret@host:x/db",
		"user=u password = sekret host=h port=99999999", "user=u password='se kret host=1", "user=u passwd=sekret port=x", "sekret",
		"postgres://u:p@h/db?sslmode=sekret", "postgres://u@h/db?target_session_attrs=sekret", "host=h password=a`: invalid port sekret port=x",
		"postgres://u:p@h/db?connect_timeout=sekret", "postgres://u:p@h/db?pool_max_conns=sekret",
	} {
		cfg, err := spatial.ParsePool(dsn)
		if !errors.Is(err, spatial.ErrDSN) || cfg != nil {
			t.Errorf("%s: %v", dsn, err)
			continue
		}
		if strings.Contains(err.Error(), "kret") {
			t.Errorf("%s: the error shows it: %v", dsn, err)
		}
		for ; err != nil; err = errors.Unwrap(err) {
			if strings.Contains(err.Error(), "kret") {
				t.Errorf("%s: an error within shows it: %v", dsn, err)
			}
		}
	}
	if _, err := spatial.ParsePool("postgres://u@h:x/db"); err == nil || !strings.Contains(err.Error(), "write postgres://") {
		t.Errorf("%v doesn't say what to write", err)
	}
	if cfg, err := spatial.ParsePool("postgres://u:sekret@h/db"); err != nil || cfg.ConnConfig.Password != "sekret" {
		t.Errorf("a right one: %v", err)
	}
}

func TestWithoutPassword(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://u:sekret@h:5/db?sslmode=disable":          "postgres://u@h:5/db?sslmode=disable",
		"postgres://u@h/db?password=sekret&sslmode=disable":   "postgres://u@h/db?sslmode=disable",
		"host=h password='se\\'kret here' user=u":             "host=h  user=u",
		"host=h password = sekret user=u":                     "host=h  user=u",
		"postgres://latlab@127.0.0.1:5432/latlab":             "postgres://latlab@127.0.0.1:5432/latlab",
		"postgres:///latlab?host=/tmp/some%20where&user=root": "postgres:///latlab?host=/tmp/some%20where&user=root",
	} {
		if got := spatial.WithoutPassword(dsn); got != want {
			t.Errorf("%s: %q, want %q", dsn, got, want)
		}
	}
}
