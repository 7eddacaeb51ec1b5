package laws

import "fmt"

// InFlight is Little's law, N = X R (Little 1961): the mean number of requests
// inside a system from which perSec requests a second leave after response
// seconds in the mean.
func InFlight(perSec, response Interval) Interval { return perSec.Mul(response) }

// Utilisation is the utilisation law, U = X S / c (Lazowska 1984, chapter 3):
// the mean share of servers that are busy when each of perSec requests a second
// keeps one busy for service seconds. Over 1 it can't be.
func Utilisation(perSec, service Interval, servers int) Interval {
	return perSec.Mul(service).Div(Exact(float64(servers)))
}

// Response is the response-time law, R = N/X - Z (Lazowska 1984, chapter 3):
// the mean response time, in seconds, of a closed system with so many users, of
// which each thinks for think seconds before a request.
func Response(users, perSec, think Interval) Interval { return users.Div(perSec).Sub(think) }

// Think is the response-time law read the other way, Z = N/X - R: the mean time
// in seconds that users spend outside the system between two requests.
func Think(users, perSec, response Interval) Interval { return users.Div(perSec).Sub(response) }

// Users is the same law once more, N = X (R + Z): the mean number of users who
// were active.
func Users(perSec, response, think Interval) Interval { return perSec.Mul(response.Add(think)) }

// StationRate is the forced flow law, X_k = V_k X (Lazowska 1984, chapter 3):
// visits a second at a station that each request visits so many times.
func StationRate(visits, perSec Interval) Interval { return visits.Mul(perSec) }

// A Row is one measured state of a system: requests a second and their mean
// response time in seconds.
type Row struct{ PerSec, Response Interval }

// CommonLoad asks which number of users and which think time, in seconds, would
// give both rows, if only the system changed between them and not its users: two
// equations N = X (R + Z) with two unknowns. It takes rounding into account,
// with bounds that are wider than need be, since a figure is used several
// times. Rows of the same throughput say nothing of it: the error wraps
// [ErrArgument].
func CommonLoad(a, b Row) (users, think Interval, err error) {
	if a.PerSec.Overlaps(b.PerSec) {
		return users, think, fmt.Errorf("laws: common load of rows with %v and %v requests a second: %w: they must differ to tell users and think time",
			a.PerSec, b.PerSec, ErrArgument)
	}
	gap := b.PerSec.Sub(a.PerSec)
	think = InFlight(a.PerSec, a.Response).Sub(InFlight(b.PerSec, b.Response)).Div(gap)
	// N = X1 X2 (R1 - R2) / (X2 - X1): with Z put in, so that it isn't
	// subtracted from itself.
	users = a.PerSec.Mul(b.PerSec).Mul(a.Response.Sub(b.Response)).Div(gap)
	return users, think, nil
}
