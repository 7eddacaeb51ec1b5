package sim

import "fmt"

// Users starts a closed loop: so many users who each think and then do body, for
// ever. So no more requests are under way than there are users, and a slow system
// is asked for less.
func (s *Sim) Users(n int, think Dist, body func(*Proc)) {
	if n < 1 {
		panic(fmt.Sprintf("sim: %d users; a closed loop needs one", n))
	}
	for range n {
		s.Go("user", func(p *Proc) {
			for {
				p.Sleep(p.Draw(think))
				body(p)
			}
		})
	}
}

// Arrivals starts an open loop: a process of that name does body after each
// interval that is drawn, whatever became of those before. Exponential intervals
// are those of users who know nothing of each other.
func (s *Sim) Arrivals(name string, interval Dist, body func(*Proc)) {
	s.Go(name+" arrivals", func(p *Proc) {
		for {
			p.Sleep(p.Draw(interval))
			s.Go(name, body)
		}
	})
}
