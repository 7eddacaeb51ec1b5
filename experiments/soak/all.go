package soak

// Cases are all cases.
func Cases() []Case {
	return []Case{
		{"rawblock", Rawblock},
		{"crash", Crash},
		{"aerospike", Aerospike},
		{"spatial", Spatial},
		{"pull", Pull},
		{"coldfetch", Coldfetch},
	}
}
