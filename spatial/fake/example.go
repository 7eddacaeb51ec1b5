package fake

import (
	"strconv"
	"strings"

	"latlab.example/spatial"
)

// Example is the case's search with its parameters written into the text, as
// one types it in psql.
func Example(lon, lat, meters float64, limit int) string {
	text := spatial.SearchRadius + ";"
	for i, v := range []string{ftoa(lon), ftoa(lat), ftoa(meters), strconv.Itoa(limit)} {
		text = strings.ReplaceAll(text, "$"+strconv.Itoa(i+1)+"::", v+"::")
	}
	return text
}

// ftoa writes a number, in parentheses if it is negative: a cast binds tighter
// than the sign.
func ftoa(f float64) string {
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if f < 0 {
		return "(" + s + ")"
	}
	return s
}
