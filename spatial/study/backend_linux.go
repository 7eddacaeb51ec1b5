package study

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// ticksPerSec is what Linux counts a process's CPU time in (USER_HZ).
const ticksPerSec = 100

// postmaster is the process that started a connection's backend; ok is false
// where that isn't a PostgreSQL on this host.
func postmaster(c *pgconn.PgConn) (pid int, ok bool) {
	at := c.Conn().RemoteAddr()
	if at.Network() != "unix" && !strings.HasPrefix(at.String(), "127.") && !strings.HasPrefix(at.String(), "[::1]") {
		return 0, false
	}
	backend, ok := stat(int(c.PID()))
	if !ok || backend.name != "postgres" {
		return 0, false
	}
	main, ok := stat(backend.parent)
	return backend.parent, ok && main.name == "postgres"
}

// treeCPU is the CPU time of a process and its children, those that have ended
// included.
func treeCPU(pid int) (used time.Duration, ok bool) {
	main, ok := stat(pid)
	if !ok {
		return 0, false
	}
	ticks := main.own + main.ended
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, false
	}
	for _, dir := range all {
		n, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if p, ok := stat(n); ok && p.parent == pid {
			ticks += p.own + p.ended
		}
	}
	return time.Duration(ticks) * time.Second / ticksPerSec, true
}

type process struct {
	name       string
	parent     int
	own, ended int64 // ticks of itself, and of its children that have ended
}

// stat reads /proc/PID/stat (proc(5)).
func stat(pid int) (p process, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, false
	}
	from, to := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if from < 0 || to < from {
		return p, false
	}
	p.name = string(text[from+1 : to])
	f := strings.Fields(string(text[to+1:]))
	if len(f) < 15 {
		return p, false
	}
	n := make([]int64, 15)
	for i := 1; i < 15; i++ { // field 0 is the state, a letter
		if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil {
			return p, false
		}
	}
	p.parent, p.own, p.ended = int(n[1]), n[11]+n[12], n[13]+n[14]
	return p, true
}
