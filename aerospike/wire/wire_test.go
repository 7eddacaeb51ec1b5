package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"testing/quick"
)

// value is a value that testing/quick draws.
type value struct{ v any }

func (value) Generate(r *rand.Rand, size int) reflect.Value {
	return reflect.ValueOf(value{draw(r, min(size, 20), 0)})
}

func draw(r *rand.Rand, size, depth int) any {
	kinds := 8
	if depth > 3 {
		kinds = 6
	}
	switch r.Intn(kinds) {
	case 0:
		return nil
	case 1:
		return r.Intn(2) == 0
	case 2:
		return int64(r.Uint64()) >> r.Intn(64) // all widths
	case 3:
		return r.NormFloat64()
	case 4:
		return string(drawBytes(r))
	case 5:
		return drawBytes(r)
	case 6:
		list := []any{}
		for range r.Intn(size + 1) {
			list = append(list, draw(r, size/2, depth+1))
		}
		return list
	}
	m := map[any]any{}
	for range r.Intn(size + 1) {
		key := draw(r, 0, 9)
		if b, ok := key.([]byte); ok {
			key = string(b)
		}
		m[key] = draw(r, size/2, depth+1)
	}
	return m
}

// drawBytes crosses the borders of all lengths' codes.
func drawBytes(r *rand.Rand) []byte {
	sizes := []int{0, 1, 30, 31, 32, 254, 255, 256}
	if r.Intn(50) == 0 {
		sizes = []int{65534, 65535, 65536}
	}
	b := make([]byte, sizes[r.Intn(len(sizes))])
	r.Read(b)
	return b
}

func TestValuesRoundTrip(t *testing.T) {
	check := func(v value) bool {
		p, b, err := AppendValue([]byte("before"), v.v)
		if err != nil {
			t.Error(err)
			return false
		}
		got, err := p.Value(b[len("before"):])
		if err != nil || !reflect.DeepEqual(got, v.v) {
			t.Logf("%.200s came back as %.200s, %v", fmt.Sprintf("%#v", v.v), fmt.Sprintf("%#v", got), err)
			return false
		}
		return true
	}
	if quick.Check(check, &quick.Config{MaxCount: 500}) != nil { // its error prints megabytes
		t.Error("a value doesn't round-trip")
	}
	for _, v := range []any{int64(math.MinInt64), int64(math.MaxInt64), math.Inf(-1), make([]any, 16), make([]any, 1<<16), []any{uint64(math.MaxUint64)}} {
		if !check(value{v}) {
			t.Errorf("%T doesn't round-trip", v)
		}
	}
}

func TestValuesWithoutAParticle(t *testing.T) {
	deep := any("end")
	for range maxDepth + 2 {
		deep = []any{deep}
	}
	for _, v := range []any{struct{}{}, []any{struct{}{}}, map[any]any{[2]int{}: 1}, map[any]any{1: struct{}{}}, deep} {
		if _, _, err := AppendValue(nil, v); !errors.Is(err, ErrValue) {
			t.Errorf("%T: got %v, want ErrValue", v, err)
		}
	}
}

// A server puts an extension at the start of sorted lists and maps.
func TestExtensionsAreNoElements(t *testing.T) {
	got, err := Map.Value([]byte{0x82, 0xc7, 0, 1, 0xc0, 5, 6})
	if want := (map[any]any{int64(5): int64(6)}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("map: %v, %v", got, err)
	}
	got, err = List.Value([]byte{0x92, 0xd4, 1, 2, 7})
	if want := []any{int64(7)}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("list: %v, %v", got, err)
	}
}

func drawOps(r *rand.Rand) (s Ops) {
	for range r.Intn(4) {
		s = s.Append(Op{Do: OpRead, Type: Particle(r.Intn(30)), Name: drawBytes(r)[:0:0], Value: []byte{1, 2, 3}[:r.Intn(4)]})
	}
	return s
}

type message struct{ m Message }

func (message) Generate(r *rand.Rand, _ int) reflect.Value {
	m := Message{Header: Header{
		Info1: uint8(r.Int()), Info2: uint8(r.Int()), Info3: uint8(r.Int()), Result: uint8(r.Int()),
		Generation: r.Uint32(), TTL: r.Uint32(), Timeout: r.Uint32(),
	}, Bins: drawOps(r)}
	for range r.Intn(5) {
		m.List = append(m.List, Field{FieldType(r.Intn(50)), []byte("some data")[:r.Intn(9)]})
	}
	m.Fields, m.Ops = uint16(len(m.List)), uint16(m.Bins.Count)
	return reflect.ValueOf(message{m})
}

func sameOps(a, b Ops) bool { return a.Count == b.Count && bytes.Equal(a.Data, b.Data) }

func TestMessagesRoundTrip(t *testing.T) {
	check := func(in message) bool {
		b := in.m.Append(nil)
		var got Message
		n, err := got.Parse(append(b, "what follows"...))
		if err != nil || n != len(b) || got.Header != in.m.Header || !sameOps(got.Bins, in.m.Bins) || len(got.List) != len(in.m.List) {
			return false
		}
		for i, f := range got.List {
			if f.Type != in.m.List[i].Type || !bytes.Equal(f.Data, in.m.List[i].Data) {
				return false
			}
		}
		h, bins, m, err := ParseRow(b)
		return err == nil && m == n && h == got.Header && sameOps(bins, got.Bins)
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}

func TestOpsAreFoundByName(t *testing.T) {
	var s Ops
	for i, name := range []string{"a", "bb", "a"} {
		s = s.Append(Op{Do: OpWrite, Type: Int, Name: []byte(name), Value: []byte{byte(i)}})
	}
	if o, ok := s.Find("a"); !ok || o.Value[0] != 2 {
		t.Errorf("a: %v %v, want the last one", o, ok)
	}
	if _, ok := s.Find("c"); ok {
		t.Error("found c, which isn't there")
	}
}

type batch struct {
	kind FieldType
	b    Batch
}

func (batch) Generate(r *rand.Rand, _ int) reflect.Value {
	kind := []FieldType{FieldBatch, FieldBatchGet}[r.Intn(2)]
	b := Batch{Flags: uint8(r.Intn(8))}
	for i := range r.Intn(6) {
		row := BatchRow{Index: r.Uint32(), Info1: uint8(r.Int()), Namespace: []byte("test"), Set: []byte("sets")[:r.Intn(5)], Bins: drawOps(r)}
		if kind == FieldBatch {
			row.Type = uint8(r.Intn(8)) * 2
			if row.Type&RowInfo != 0 {
				row.Info2, row.Info3 = uint8(r.Int()), uint8(r.Int())
			}
			if row.Type&RowGeneration != 0 {
				row.Generation = uint16(r.Int())
			}
			if row.Type&RowTTL != 0 {
				row.TTL = r.Uint32()
			}
			if r.Intn(2) == 0 {
				row.UserKey = []byte{3, 'k'}
			}
		}
		if i > 0 && r.Intn(2) == 0 {
			row = b.Rows[i-1]
			row.Index, row.Type = r.Uint32(), row.Type|RowRepeat
		}
		r.Read(row.Digest[:])
		b.Rows = append(b.Rows, row)
	}
	return reflect.ValueOf(batch{kind, b})
}

func sameRow(a, b BatchRow) bool {
	same := sameOps(a.Bins, b.Bins) && bytes.Equal(a.Namespace, b.Namespace) && bytes.Equal(a.Set, b.Set) && bytes.Equal(a.UserKey, b.UserKey)
	for _, r := range []*BatchRow{&a, &b} {
		r.Bins, r.Namespace, r.Set, r.UserKey = Ops{}, nil, nil, nil
	}
	return same && reflect.DeepEqual(a, b)
}

func TestBatchesRoundTrip(t *testing.T) {
	check := func(in batch) bool {
		var got Batch
		if err := got.Parse(in.b.Append(nil, in.kind), in.kind); err != nil {
			t.Error(err)
			return false
		}
		if got.Flags != in.b.Flags || len(got.Rows) != len(in.b.Rows) {
			return false
		}
		for i := range got.Rows {
			if !sameRow(got.Rows[i], in.b.Rows[i]) {
				t.Errorf("row %d: %+v, want %+v", i, got.Rows[i], in.b.Rows[i])
				return false
			}
		}
		return true
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}

func TestFramesRoundTrip(t *testing.T) {
	var buf []byte
	for _, size := range []int{0, 1, 4096, 300 << 10, 1 << 20} {
		body := bytes.Repeat([]byte{7}, size)
		typ, got, err := ReadFrame(io.MultiReader(bytes.NewReader(AppendFrame(nil, TypeMessage, size)), bytes.NewReader(body)), buf, 1<<20)
		if err != nil || typ != TypeMessage || !bytes.Equal(got, body) {
			t.Errorf("%d bytes: type %d, %d bytes, %v", size, typ, len(got), err)
		}
		buf = got
		patched := append(make([]byte, FrameHeaderSize), body...)
		PatchFrame(patched, TypeMessage)
		if !bytes.HasPrefix(patched, AppendFrame(nil, TypeMessage, size)) {
			t.Errorf("%d bytes: PatchFrame and AppendFrame differ", size)
		}
	}
	if _, _, err := ReadFrame(strings.NewReader(""), nil, 10); err != io.EOF {
		t.Errorf("an empty stream: %v, want io.EOF", err)
	}
	if _, _, err := ReadFrame(bytes.NewReader(AppendFrame(nil, TypeInfo, 5)), nil, 10); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a frame without its body: %v, want io.ErrUnexpectedEOF", err)
	}
}

func TestInfoRoundTrips(t *testing.T) {
	names, err := ParseInfoRequest(AppendInfoRequest(nil, "node", "features"))
	if err != nil || !reflect.DeepEqual(names, []string{"node", "features"}) {
		t.Errorf("request: %q, %v", names, err)
	}
	reply := AppendInfoReply(AppendInfoReply(nil, Info{"node", "A1"}), Info{"none", ""})
	got, err := ParseInfoReply(append(reply, "ERROR:4:unrecognized command\n"...))
	want := []Info{{"node", "A1"}, {"none", ""}, {"ERROR:4:unrecognized command", ""}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("reply: %q, %v", got, err)
	}
}

// What is malformed is an error that says where.
func TestMalformed(t *testing.T) {
	row := Batch{Rows: []BatchRow{{Type: RowRepeat}}}.Append(nil, FieldBatchGet)
	whole := Message{Bins: Ops{}.Append(Op{Name: []byte("bin")})}.Append(nil)
	parseBatch := func(b []byte) error { return new(Batch).Parse(b, FieldBatchGet) }
	parseMessage := func(b []byte) error { _, err := new(Message).Parse(b); return err }
	parseFrame := func(b []byte) error { _, _, err := ParseFrameHeader(b, 100); return err }
	list := func(b []byte) error { _, err := List.Value(b); return err }
	for _, test := range []struct {
		name   string
		parse  func([]byte) error
		in     []byte
		offset int
	}{
		{"leading repeat", parseBatch, row, 5},
		{"count without rows", parseBatch, []byte{0xff, 0xff, 0xff, 0xff, 0}, 0},
		{"bytes after the rows", parseBatch, []byte{0, 0, 0, 0, 0, 9}, 5},
		{"half a header", parseMessage, whole[:10], 0},
		{"half an operation", parseMessage, whole[:len(whole)-1], 22},
		{"a short header", parseMessage, append([]byte{21}, whole[1:]...), 0},
		{"version 3", parseFrame, []byte{3, 3, 0, 0, 0, 0, 0, 0}, 0},
		{"type 2", parseFrame, []byte{2, 2, 0, 0, 0, 0, 0, 0}, 1},
		{"an absurd size", parseFrame, []byte{2, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 2},
		{"a list of four billion", list, []byte{0xdd, 0xff, 0xff, 0xff, 0xff}, 5},
		{"a map as a list", list, []byte{0x80}, 0},
		{"a list as a key", list, []byte{0x91, 0x81, 0x90, 1}, 2},
		{"two values", list, []byte{0x90, 0x90}, 1},
		{"no type of a string", list, []byte{0x91, 0xa0}, 2},
		{"too deep", list, bytes.Repeat([]byte{0x91}, 100), maxDepth + 1},
		{"a bool of two bytes", func(b []byte) error { _, err := Bool.Value(b); return err }, []byte{1, 1}, 0},
		{"an integer of three bytes", func(b []byte) error { _, err := Int.Value(b); return err }, []byte{1, 1, 1}, 0},
		{"no newline", func(b []byte) error { _, err := ParseInfoRequest(b); return err }, []byte("node"), 4},
	} {
		err := test.parse(test.in)
		var f *FormatError
		if !errors.As(err, &f) || !errors.Is(err, ErrMalformed) || f.Offset != test.offset {
			t.Errorf("%s: %v, want a FormatError at %d", test.name, err, test.offset)
		}
	}
}

// Claims of length cost no memory.
func TestAllocationsAreBounded(t *testing.T) {
	nested := bytes.Repeat([]byte{0xdd, 0, 0, 0xff, 0xff}, maxDepth)
	nested = append(nested, make([]byte, 1<<16)...)
	res := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			_, _ = List.Value(nested)
		}
	})
	if got, most := res.AllocedBytesPerOp(), int64(100*len(nested)); got > most {
		t.Errorf("%d bytes allocated for an input of %d", got, len(nested))
	}
}
