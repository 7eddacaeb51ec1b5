// Package fake is an Aerospike cluster in memory that takes its time: the
// official client connects to it over loopback.
//
//  1. [New] listens, one address a node. The nodes share the records and split
//     the partitions, with replicas, as the info replies say (info.go).
//  2. A connection reads frames and answers each (serve.go): single reads and
//     writes, and both kinds of batch. What is malformed is answered or closes
//     the connection as a server does it.
//  3. A request costs [Config].Request and Key for each of its keys, on one of
//     the node's workers, and the round trip beside them. Requests that find all
//     workers busy queue in order of arrival. All waits go through the rig's
//     waiter; the work of the fake itself is done within them.
//  4. Faults act on schedule ([Config].Faults), and [Cluster.Leave],
//     [Cluster.Return], [Cluster.Rename] and [Cluster.Unavailable] change the
//     cluster.
//
// It isn't a server: no records expire, no scan, query, UDF, expression or
// collection operation is served (result code 16 or 4), nothing is compressed
// (25, as in the Community Edition), and all nodes see a write at once.
package fake
