package laws

// Repairman is the closed form of the machine repairman: users who think for
// exponential times of think seconds and share one station with so many servers
// and exponential service of service seconds (M/M/c//N; Kleinrock 1975, section
// 3.8 and after). It gives requests a second and the mean response time in
// seconds. It sums the states of one birth-death chain and so checks
// [Closed.Solve], which gives the same by another way.
func Repairman(users int, think, service float64, servers int) (perSec, response float64, err error) {
	c := Closed{users, think, []Station{{"repair", service, servers}}}
	if err := c.check(); err != nil {
		return 0, 0, err
	}
	// weight[k] is proportional to the probability of k users at the station.
	// Births are (N-k)/Z, deaths min(k,c)/S; both sides times Z^N allow Z = 0.
	powers := make([]scaled, users+1) // of Z
	powers[0] = scale(1)
	for k := range users {
		powers[k+1] = powers[k].mul(scale(think))
	}
	var total, served, there scaled
	weight := scale(1)
	for k := range users + 1 {
		w := weight.mul(powers[users-k])
		total = total.add(w)
		served = served.add(w.mul(scale(float64(min(k, servers)))))
		there = there.add(w.mul(scale(float64(k))))
		weight = weight.mul(scale(float64(users-k) * service / float64(min(k+1, servers))))
	}
	if service == 0 {
		return float64(users) / think, 0, nil
	}
	perSec = served.over(total) / service
	return perSec, there.over(total) / perSec, nil
}
