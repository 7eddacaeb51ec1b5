package geo

// Integrated is the reference of the tests.
func Integrated(p, q Point) float64 { return integrated(&p, &q) }

// Bounds that the index relies on.
const (
	Shrinks = shrinks
	Grows   = grows
)
