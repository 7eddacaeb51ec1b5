package fake_test

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"
	"github.com/aerospike/aerospike-client-go/v7/types"

	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/internal/aerotest"
	"latlab.example/common/lab/labtest"
)

// Variables of a real server. Tests write under their own sets and clean up.
const (
	realAddr      = "LATLAB_AEROSPIKE"
	realNamespace = "LATLAB_AEROSPIKE_NAMESPACE"
)

// TestClient runs the official client on fakes and, where there is one, on a
// real server: the same assertions.
func TestClient(t *testing.T) {
	for _, target := range []struct {
		name string
		cfg  fake.Config
	}{
		{"one node", fake.Config{}},
		{"three nodes", fake.Config{Nodes: 3, Replicas: 2}},
		{"one node, shuffled", fake.Config{Shuffle: true, Seed: 1}},
		{"three nodes, shuffled", fake.Config{Nodes: 3, Shuffle: true, Block: 4096}},
	} {
		t.Run(target.name, func(t *testing.T) {
			c := aerotest.Start(t, target.cfg)
			client := aerotest.Connect(t, c.Addrs()[0])
			if got, want := len(client.GetNodes()), max(target.cfg.Nodes, 1); got != want {
				t.Fatalf("the client sees %d nodes, want %d", got, want)
			}
			exercise(t, client, "test")
		})
	}
	t.Run("real", func(t *testing.T) {
		addr := os.Getenv(realAddr)
		if addr == "" {
			labtest.Require(t, "aerospike", errors.New("set "+realAddr+" to host:port"))
		}
		ns := os.Getenv(realNamespace)
		if ns == "" {
			ns = "test"
		}
		exercise(t, aerotest.Connect(t, addr), ns)
	})
}

func key(t *testing.T, ns, set string, user any) *as.Key {
	t.Helper()
	k, err := as.NewKey(ns, set, user)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// exercise writes, reads, batches and deletes, and leaves nothing behind.
func exercise(t *testing.T, client *as.Client, ns string) {
	single(t, client, ns)
	batches(t, client, ns)
}

// single tries one record, with every particle.
func single(t *testing.T, client *as.Client, ns string) {
	t.Helper()
	k := key(t, ns, "latlab_fake_one", "a")
	if _, err := client.Delete(nil, k); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(nil, k); !err.Matches(types.KEY_NOT_FOUND_ERROR) {
		t.Errorf("a missing record: %v", err)
	}
	bins := as.BinMap{
		"i": -7, "f": 2.5, "s": "text", "b": []byte{1, 0}, "t": true,
		"l": []any{1, "x", nil, 1.5}, "m": map[any]any{"k": 300, 5: []any{}},
	}
	if err := client.Put(nil, k, bins); err != nil {
		t.Fatal(err)
	}
	rec, err := client.Get(nil, k)
	if err != nil || !reflect.DeepEqual(rec.Bins, bins) {
		t.Errorf("Get: %#v, %v, want %#v", rec.Bins, err, bins)
	}
	if rec, err = client.Get(nil, k, "i", "none"); err != nil || !reflect.DeepEqual(rec.Bins, as.BinMap{"i": -7}) {
		t.Errorf("Get of one bin: %v, %v", rec, err)
	}
	if rec, err = client.GetHeader(nil, k); err != nil || rec.Generation != 1 || len(rec.Bins) != 0 {
		t.Errorf("GetHeader: %v, %v", rec, err)
	}
	if ok, err := client.Exists(nil, k); err != nil || !ok {
		t.Errorf("Exists: %v, %v", ok, err)
	}
	if rec, err = client.Operate(nil, k, as.PutOp(as.NewBin("i", 8)), as.GetBinOp("i")); err != nil || rec.Bins["i"] != 8 && !reflect.DeepEqual(rec.Bins["i"], as.OpResults{nil, 8}) {
		t.Errorf("Operate: %v, %v", rec, err)
	}
	create := as.NewWritePolicy(0, 0)
	create.RecordExistsAction = as.CREATE_ONLY
	if err := client.Put(create, k, as.BinMap{"i": 1}); !err.Matches(types.KEY_EXISTS_ERROR) {
		t.Errorf("create over a record: %v", err)
	}
	old := as.NewWritePolicy(1, 0)
	old.GenerationPolicy = as.EXPECT_GEN_EQUAL
	if err := client.Put(old, k, as.BinMap{"i": 1}); !err.Matches(types.GENERATION_ERROR) {
		t.Errorf("an old generation: %v", err)
	}
	replace := as.NewWritePolicy(0, 1000)
	replace.RecordExistsAction = as.REPLACE
	if err := client.Put(replace, k, as.BinMap{"only": 1}); err != nil {
		t.Error(err)
	}
	if rec, err = client.Get(nil, k); err != nil || len(rec.Bins) != 1 {
		t.Errorf("after a replace: %v, %v", rec, err)
	}
	if gone, err := client.Delete(nil, k); err != nil || !gone {
		t.Errorf("Delete: %v, %v", gone, err)
	}
	if gone, err := client.Delete(nil, k); err != nil || gone {
		t.Errorf("Delete again: %v, %v", gone, err)
	}
}

// batches tries 1800 keys in nine sets, with misses, duplicates, and user keys
// that two sets share.
func batches(t *testing.T, client *as.Client, ns string) {
	t.Helper()
	bp := as.NewBatchPolicy()
	bp.TotalTimeout = 10 * time.Second
	var keys []*as.Key
	var want []any
	var writes, deletes []as.BatchRecordIfc
	for i := range 1800 {
		set, user := fmt.Sprintf("latlab_fake_%d", i%9), i/9
		if i%50 == 49 { // the key before, again
			keys, want = append(keys, keys[i-1]), append(want, want[i-1])
			continue
		}
		k := key(t, ns, set, user)
		keys = append(keys, k)
		if i%10 == 3 {
			want = append(want, nil)
		} else {
			want = append(want, i)
			writes = append(writes, as.NewBatchWrite(nil, k, as.PutOp(as.NewBin("n", i)), as.PutOp(as.NewBin("s", set))))
		}
		deletes = append(deletes, as.NewBatchDelete(nil, k))
	}
	if err := client.BatchOperate(bp, deletes); err != nil && !err.Matches(types.KEY_NOT_FOUND_ERROR) {
		t.Fatal(err)
	}
	if err := client.BatchOperate(bp, writes); err != nil {
		t.Fatal(err)
	}
	for _, w := range writes {
		if r := w.BatchRec(); r.Err != nil || r.ResultCode != types.OK {
			t.Fatalf("write: %v", r)
		}
	}
	for _, inline := range []bool{true, false} {
		bp.AllowInline = inline
		recs, err := client.BatchGet(bp, keys)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range recs {
			if got := value(r, "n"); got != want[i] {
				t.Fatalf("BatchGet, inline %v, row %d: %v, want %v", inline, i, got, want[i])
			}
		}
	}
	recs, err := client.BatchGet(bp, keys, "s")
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range recs {
		if (r != nil) != (want[i] != nil) || r != nil && (r.Bins["s"] != keys[i].SetName() || len(r.Bins) != 1) {
			t.Fatalf("BatchGet of one bin, row %d: %v", i, r)
		}
	}
	if recs, err = client.BatchGetHeader(bp, keys); err != nil || recs[0] == nil || len(recs[0].Bins) != 0 || recs[3] != nil {
		t.Errorf("BatchGetHeader: %v", err)
	}
	exist, err := client.BatchExists(bp, keys)
	if err != nil || !exist[0] || exist[3] {
		t.Errorf("BatchExists: %v", err)
	}
	var reads []as.BatchRecordIfc
	for i, k := range keys {
		if i%2 == 0 {
			reads = append(reads, as.NewBatchRead(nil, k, []string{"n"}))
		} else {
			reads = append(reads, as.NewBatchReadHeader(nil, k))
		}
	}
	if err := client.BatchOperate(bp, reads); err != nil && !err.Matches(types.KEY_NOT_FOUND_ERROR) {
		t.Fatal(err)
	}
	for i, r := range reads {
		b := r.BatchRec()
		switch {
		case want[i] == nil && b.ResultCode != types.KEY_NOT_FOUND_ERROR,
			want[i] != nil && i%2 == 0 && value(b.Record, "n") != want[i],
			want[i] != nil && i%2 == 1 && (b.Record == nil || len(b.Record.Bins) != 0):
			t.Fatalf("BatchOperate, row %d: %v, want %v", i, b, want[i])
		}
	}
	if err := client.BatchOperate(bp, deletes); err != nil && !err.Matches(types.KEY_NOT_FOUND_ERROR) {
		t.Fatal(err)
	}
	if recs, err = client.BatchGet(bp, keys); err != nil {
		t.Fatal(err)
	}
	for i, r := range recs {
		if r != nil {
			t.Fatalf("row %d is there after its delete", i)
		}
	}
	if _, err := client.BatchGet(bp, []*as.Key{key(t, "latlab_none", "s", 1), key(t, "latlab_none", "s", 2)}); err == nil {
		t.Error("an unknown namespace is no error")
	}
}

func value(r *as.Record, bin string) any {
	if r == nil {
		return nil
	}
	return r.Bins[bin]
}
