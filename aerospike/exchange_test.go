package aerospike

import (
	"net"
	"testing"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike/wire"
)

// A node that sends frames without end is given up, at the latest when there are
// more of them than rows.
func TestFramesWithoutEnd(t *testing.T) {
	row := wire.Header{Timeout: 0}.Append(wire.AppendFrame(nil, wire.TypeMessage, wire.HeaderSize))
	large := append(wire.AppendFrame(nil, wire.TypeMessage, wire.HeaderSize+1), make([]byte, wire.HeaderSize+1)...)
	for name, frame := range map[string][]byte{
		"of nothing":   wire.AppendFrame(nil, wire.TypeMessage, 0),
		"of half rows": append(wire.AppendFrame(nil, wire.TypeMessage, 8), make([]byte, 8)...),
		"of one row":   row,
		"of more":      large,
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			for n := 0; n < 1000; n++ { // an end that is far enough
				if _, err := conn.Write(frame); err != nil {
					return
				}
			}
		}()
		addr := l.Addr().(*net.TCPAddr)
		conn, aerr := as.NewConnection(as.NewClientPolicy(), as.NewHost(addr.IP.String(), addr.Port))
		if aerr != nil {
			t.Fatal(aerr)
		}
		if aerr := conn.SetTimeout(time.Now().Add(20*time.Second), 0); aerr != nil {
			t.Fatal(aerr)
		}
		var in inbox
		if err := receive(conn, nil, &in, 3); err == nil || isNetwork(err) || len(in.frames) > 4 {
			t.Errorf("frames %s: %d were kept, %v", name, len(in.frames), err)
		}
		conn.Close()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		<-done
	}
}
