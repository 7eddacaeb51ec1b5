package postgis

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Errors of this package; they come wrapped with what was found.
var (
	// ErrMissing occurs when the host has no PostgreSQL with PostGIS.
	ErrMissing = errors.New("no PostgreSQL with PostGIS is installed")
	// ErrFolder occurs when the folder can't hold a cluster.
	ErrFolder = errors.New("the folder can't hold a cluster")
)

// Install is the command that installs what is needed on Debian 12.
const Install = "apt-get install -y --no-install-recommends postgresql-15 postgresql-15-postgis-3"

// places are where systems keep PostgreSQL's programs: Debian, Red Hat,
// Homebrew.
var places = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin"}

// Find gives the folder of PostgreSQL's programs, the newest that has PostGIS.
func Find() (bin string, err error) { return find(places) }

func find(places []string) (bin string, err error) {
	var all []string
	for _, p := range places {
		found, err := filepath.Glob(p)
		if err != nil {
			return "", err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b string) int { return release(b) - release(a) })
	for _, bin := range all {
		if _, err := os.Stat(filepath.Join(bin, "initdb")); err == nil && hasPostGIS(bin) {
			return bin, nil
		}
	}
	return "", fmt.Errorf("postgis: %w (looked in %s); on Debian 12: %s", ErrMissing, strings.Join(places, ", "), Install)
}

// release is the number in the folder's name.
func release(bin string) int {
	dir := filepath.Base(filepath.Dir(bin))
	n, err := strconv.Atoi(dir[strings.LastIndexAny(dir, "-@")+1:])
	if err != nil {
		return 0
	}
	return n
}

// hasPostGIS looks for the extension's description where systems keep it.
func hasPostGIS(bin string) bool {
	root := filepath.Dir(bin)
	for _, share := range []string{
		filepath.Join("/usr/share/postgresql", filepath.Base(root)),
		filepath.Join(root, "share"), filepath.Join(root, "share/postgresql"), "/opt/homebrew/share/" + filepath.Base(root), "/usr/local/share/" + filepath.Base(root),
	} {
		if _, err := os.Stat(filepath.Join(share, "extension/postgis.control")); err == nil {
			return true
		}
	}
	return false
}
