package wire

import (
	"bytes"
	"errors"
	"testing"
)

// refused fails the test unless err says where the input is malformed.
func refused(t *testing.T, err error, size int) {
	var f *FormatError
	if !errors.As(err, &f) || f.Offset < 0 || f.Offset > size {
		t.Fatalf("%v isn't a FormatError within %d bytes", err, size)
	}
}

// What parses as a message is written as the same bytes again.
func FuzzMessage(f *testing.F) {
	f.Add(Message{List: []Field{{FieldSet, []byte("s")}}, Bins: Ops{}.Append(Op{Name: []byte("b")})}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Message
		n, err := m.Parse(b)
		if err != nil {
			refused(t, err, len(b))
			return
		}
		for o, ok := m.Bins.Next(); ok; o, ok = m.Bins.Next() {
			if _, err := o.Type.Value(o.Value); err != nil {
				refused(t, err, len(o.Value))
			}
		}
		if _, err := m.Parse(b); err != nil {
			t.Fatal(err)
		}
		again := m.Append(nil)
		if b[4] = 0; !bytes.Equal(again, b[:n]) { // byte 4 means nothing
			t.Fatalf("% x became % x", b[:n], again)
		}
	})
}

// A batch that parses is written as one that parses the same.
func FuzzBatch(f *testing.F) {
	rows := []BatchRow{{Info1: Read, Namespace: []byte("n"), Set: []byte("s")}, {Type: RowRepeat}}
	f.Add(Batch{Rows: rows}.Append(nil, FieldBatchGet), true)
	rows[0].Type = RowInfo | RowTTL
	f.Add(Batch{Rows: rows}.Append(nil, FieldBatch), false)
	f.Fuzz(func(t *testing.T, b []byte, get bool) {
		kind := FieldBatch
		if get {
			kind = FieldBatchGet
		}
		var one, two Batch
		if err := one.Parse(b, kind); err != nil {
			refused(t, err, len(b))
			return
		}
		if err := two.Parse(one.Append(nil, kind), kind); err != nil {
			t.Fatal(err)
		}
		for i := range one.Rows {
			if !sameRow(one.Rows[i], two.Rows[i]) {
				t.Fatalf("row %d: %+v, then %+v", i, one.Rows[i], two.Rows[i])
			}
		}
	})
}

// A particle that decodes is encoded as one that decodes the same.
func FuzzValue(f *testing.F) {
	for _, v := range []any{int64(1), "s", []any{nil, true, 1.5, []byte("b")}, map[any]any{"k": []any{}}} {
		p, b, err := AppendValue(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(p), b)
	}
	f.Fuzz(func(t *testing.T, p uint8, b []byte) {
		v, err := Particle(p).Value(b)
		if err != nil {
			refused(t, err, len(b))
			return
		}
		q, again, err := AppendValue(nil, v)
		if err != nil || q != Particle(p) {
			t.Fatalf("%v, decoded from %d, is %d: %v", v, p, q, err)
		}
		if _, err := q.Value(again); err != nil {
			t.Fatalf("% x, then % x: %v", b, again, err)
		}
	})
}

// Frames and info never panic, and take no more than their limit.
func FuzzFrame(f *testing.F) {
	f.Add(append(AppendFrame(nil, TypeInfo, 5), "node\n"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		typ, body, err := ReadFrame(bytes.NewReader(b), nil, 1<<16)
		if err != nil {
			return
		}
		if !bytes.Equal(append(AppendFrame(nil, typ, len(body)), body...), b[:FrameHeaderSize+len(body)]) {
			t.Fatalf("% x is read as type %d, % x", b, typ, body)
		}
		if _, err := ParseInfoRequest(body); err != nil {
			refused(t, err, len(body))
		}
		if _, err := ParseInfoReply(body); err != nil {
			refused(t, err, len(body))
		}
	})
}
