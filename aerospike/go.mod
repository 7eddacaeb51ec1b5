module latlab.example/aerospike

go 1.26.0
