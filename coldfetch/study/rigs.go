//go:build !js

package study

import (
	"fmt"
	"time"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/app"
	"latlab.example/coldfetch/fake"
	"latlab.example/coldfetch/seed"
	"latlab.example/coldfetch/store"
	"latlab.example/common/child"
	"latlab.example/common/lab"
)

// onProcesses are the rigs whose service is a process of its own.
func onProcesses(units []lab.Unit, limits func(lab.Arm) child.Limits) []lab.Rig {
	return []lab.Rig{
		lab.Emulated("loopback", emulatedAssumptions, noWaits, onWall(openFakeDepot, units, limits)).Requires(twoCores),
		lab.Real("s3", twoCoresAndStore(store.Probe), onWall(openRealDepot, units, limits)),
	}
}

// ladderLimits are those of arms with a number of cores.
func ladderLimits(a lab.Arm) child.Limits { return onCores(oneCore.Of(a), procs.Of(a)) }

// Rigs of experiments that have a model too.

func ladderRigs() []lab.Rig { return onProcesses(wallOutcomes, ladderLimits) }

func loopRigs() []lab.Rig {
	return append([]lab.Rig{
		inBubble("bubble", nil, func(a lab.Arm) scene {
			return scene{setting: settingOf(a), cores: oneCore.Of(a), charge: published, load: crowdLoad(crowd.Of(a)), units: crowdOutcomes}
		}),
	}, onProcesses(wallOutcomes, ladderLimits)...)
}

func herdRigs() []lab.Rig {
	return []lab.Rig{
		inBubble("bubble", nil, func(a lab.Arm) scene {
			return scene{
				setting: modeOf(settingOf(a), handlers.Of(a)), profile: profileOf(far.Of(a)), cores: cores.Of(a), charge: published, units: herdOutcomes,
				load: func(t *lab.Trial) workload {
					return workload{users: 50, perUser: 1, paths: app.Paths()[:1], spread: 4_987_654 * time.Nanosecond, seed: t.Seed}
				},
			}
		}, far),
	}
}

func slowRigs() []lab.Rig {
	return []lab.Rig{
		inBubble("bubble", []string{"in this experiment nothing costs processor time"}, func(a lab.Arm) scene {
			s := settingOf(a)
			s.Cache = len(seed.Documents())
			return scene{
				setting: s, profile: profileOf(far.Of(a)), cores: 2, charge: free, units: slowOutcomes,
				load: func(t *lab.Trial) workload {
					w := crowdLoad(20)(t)
					w.spread, w.health, w.list = 98_765_432*time.Nanosecond, 50, 0
					return w
				},
			}
		}, far),
	}
}

func fixRigs() []lab.Rig {
	return []lab.Rig{
		inBubble("bubble", []string{"off the loop there is still an interpreter lock"}, func(a lab.Arm) scene {
			return scene{setting: settingOf(a), profile: profileOf(storeProfile.Of(a)), cores: oneCore.Of(a), charge: published, load: crowdLoad(crowd.Of(a)), units: fixOutcomes}
		}, storeProfile, coldfetch.FlightToggle),
	}
}

func profileOf(name string) fake.Profile {
	p, err := fake.ProfileNamed(name)
	if err != nil {
		panic(fmt.Sprintf("coldfetch/study: %v", err)) // the levels above are its names
	}
	return p
}
