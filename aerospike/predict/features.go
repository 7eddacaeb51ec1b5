package predict

import (
	"hash/fnv"
	"math"

	"latlab.example/aerospike"
	"latlab.example/aerospike/records"
)

// The model's features.
const (
	sparseFeatures = 5
	denseFeatures  = 8
)

// candidates are the features of all candidates, one after the other.
type candidates struct {
	n      int
	found  int // records
	dense  []float32
	sparse []uint32
}

// record has a record's bins.
type record struct {
	age, city, seen         int64
	ctr, price, score, rank float64
	name                    string
}

// makeFeatures makes candidate i of the records at position i of all sets. Of
// numbers that are sums over the sets a missing record is no part; a candidate of
// which nothing was found has zeros.
func makeFeatures(r aerospike.Result) (c candidates, err error) {
	for i := range r.Sets {
		c.n = max(c.n, r.Sets[i].Len())
	}
	c.dense, c.sparse = make([]float32, c.n*denseFeatures), make([]uint32, c.n*sparseFeatures)
	for i := range c.n {
		var sum record
		found := 0.0
		sparse := c.sparse[i*sparseFeatures:][:sparseFeatures]
		for j := range r.Sets {
			rec, ok, err := recordOf(&r.Sets[j], i)
			if err != nil {
				return c, err
			}
			if !ok {
				continue
			}
			if found == 0 {
				h := fnv.New32a()
				_, _ = h.Write([]byte(rec.name)) // never fails
				sparse[0], sparse[1], sparse[2], sparse[3] = uint32(rec.age), uint32(rec.city), uint32(rec.seen), h.Sum32()
			}
			sparse[4] = uint32(rec.city) // of the last one found
			found++
			sum.age += rec.age
			sum.seen += rec.seen
			sum.ctr += rec.ctr
			sum.price += rec.price
			sum.score += rec.score
			sum.rank += rec.rank
		}
		c.found += int(found)
		if found == 0 {
			continue
		}
		dense := c.dense[i*denseFeatures:][:denseFeatures]
		for k, v := range [denseFeatures]float64{
			sum.ctr / found, sum.price / found, sum.score / found, sum.rank / found,
			float64(sum.age) / found, float64(sum.seen) / found, found, float64(i),
		} {
			dense[k] = float32(math.Log1p(max(v, 0))) // counts and prices span decades
		}
	}
	return c, nil
}

// recordOf is a set's record at a position, in whatever form the set is.
func recordOf(s *aerospike.Set, i int) (r record, ok bool, err error) {
	if i >= s.Len() || s.State(i) != aerospike.Found {
		return r, false, nil
	}
	if s.Columns != nil {
		cols := s.Columns.Cols // by records.Specs
		return record{
			age: cols[0].Ints[i], city: cols[1].Ints[i], seen: cols[2].Ints[i],
			ctr: cols[3].Floats[i], price: cols[4].Floats[i], score: cols[5].Floats[i], rank: cols[6].Floats[i],
			name: cols[7].Texts[i],
		}, true, nil
	}
	var bins map[string]any
	if s.Maps != nil {
		bins = s.Maps[i]
	} else if bins, err = s.Rows[i].Map(); err != nil {
		return r, false, err
	}
	whole := func(n int) int64 { v, _ := bins[records.Specs[n].Bin].(int); return int64(v) }
	number := func(n int) float64 { v, _ := bins[records.Specs[n].Bin].(float64); return v }
	r = record{
		age: whole(0), city: whole(1), seen: whole(2),
		ctr: number(3), price: number(4), score: number(5), rank: number(6),
	}
	r.name, _ = bins[records.Specs[7].Bin].(string)
	return r, true, nil
}
