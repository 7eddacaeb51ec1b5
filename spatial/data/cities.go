package data

import "math"

// A city is a place around which others cluster.
type city struct {
	name     string
	lon, lat float64 // degrees
	weight   int     // places of 1000, roughly
	km       float64 // how far they spread
}

// Cities of the data. Seoul is the study's; Taveuni lies on the antimeridian.
var cities = [...]city{
	{"Seoul", 126.9780, 37.5665, 300, 9},
	{"Incheon", 126.7052, 37.4563, 60, 6},
	{"Busan", 129.0756, 35.1796, 80, 8},
	{"Daegu", 128.6014, 35.8714, 40, 6},
	{"Daejeon", 127.3845, 36.3504, 35, 6},
	{"Gwangju", 126.8526, 35.1595, 30, 5},
	{"Jeju", 126.5312, 33.4996, 45, 10},
	{"Gangneung", 128.8761, 37.7519, 15, 5},
	{"Tokyo", 139.6917, 35.6895, 60, 15},
	{"Osaka", 135.5023, 34.6937, 35, 10},
	{"Taipei", 121.5654, 25.0330, 20, 7},
	{"Bangkok", 100.5018, 13.7563, 25, 12},
	{"Singapore", 103.8198, 1.3521, 20, 8},
	{"Delhi", 77.2090, 28.6139, 20, 14},
	{"Nairobi", 36.8219, -1.2921, 10, 8},
	{"Cairo", 31.2357, 30.0444, 15, 10},
	{"Istanbul", 28.9784, 41.0082, 20, 14},
	{"Rome", 12.4964, 41.9028, 15, 7},
	{"Paris", 2.3522, 48.8566, 25, 8},
	{"London", -0.1276, 51.5072, 30, 14},
	{"Reykjavik", -21.9426, 64.1466, 5, 4},
	{"New York", -74.0060, 40.7128, 30, 14},
	{"Mexico City", -99.1332, 19.4326, 15, 12},
	{"Quito", -78.4678, -0.1807, 8, 6},
	{"Lima", -77.0428, -12.0464, 10, 9},
	{"Buenos Aires", -58.3816, -34.6037, 12, 12},
	{"San Francisco", -122.4194, 37.7749, 15, 8},
	{"Honolulu", -157.8583, 21.3069, 8, 6},
	{"Sydney", 151.2093, -33.8688, 15, 12},
	{"Auckland", 174.7633, -36.8485, 8, 9},
	{"Taveuni", 179.9700, -16.8500, 6, 15},
	{"Anadyr", 177.5103, 64.7337, 3, 30},
	{"Longyearbyen", 15.6356, 78.2232, 3, 6},
	{"McMurdo", 166.6683, -77.8419, 2, 4},
}

// Coordinates are drawn in units of 1e-7 degrees, about a centimetre.
const unit = 10_000_000

const unitsPerKm = 89_932 // of latitude

// A centre is a city in units.
type centre struct {
	lon, lat  int64
	spreadLon int64
	spreadLat int64
	upTo      uint64 // sum of the weights up to this city
}

var (
	centres    [len(cities)]centre
	allWeights uint64
)

func init() {
	for i, c := range cities {
		allWeights += uint64(c.weight)
		spread := c.km * unitsPerKm
		centres[i] = centre{
			lon: units(c.lon), lat: units(c.lat),
			spreadLat: int64(math.Round(spread)),
			// Rounded to a hundredth of a kilometre, so that a cosine's last digit is
			// nowhere to be seen.
			spreadLon: int64(math.Round(c.km*100/math.Cos(c.lat*math.Pi/180))) * (unitsPerKm / 100),
			upTo:      allWeights,
		}
	}
}

func units(degrees float64) int64 { return int64(math.Round(degrees * unit)) }

// corners are the first places, in degrees. Fixed is the first of all; those
// after it lie in pairs at one distance from it. Nothing lies at -180: where a
// point has two names, PostGIS 3.3 fails in its index's order of distance.
var corners = [...][2]float64{
	{126.9780000, 37.5665000},
	{126.9880000, 37.5665000},
	{126.9680000, 37.5665000},
	{126.9785000, 37.5675000},
	{126.9775000, 37.5675000},
	{127.0280000, 37.5165000},
	{126.9280000, 37.5165000},
	{126.9780000, 37.5665000},
	{126.9780000, 37.5665000}, // where it is itself
	{0, 90},
	{90, 90},
	{0, -90},
	{-120, -90},
	{0, 89.9999},
	{180, 89.9999},
	{-90, 89.9999},
	{45, -89.9999},
	{180, 0},
	{-179.95, 0},
	{179.99, 0},
	{-179.99, 0},
	{180, 60},
	{-179.5, 60},
	{179.999, -16.85},
	{-179.999, -16.85},
	{0, 0},
	{0, 0},
	{0, 0.0000001},
	{-53.0220000, -37.5665000},
	{-53.0225000, -37.5660000}, // opposite to it, and nearly
}
