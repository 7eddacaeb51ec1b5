package spatial_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/common/emu"
	"latlab.example/common/metrics"
	"latlab.example/spatial"
	"latlab.example/spatial/data"
	"latlab.example/spatial/fake"
)

// A service on a fake database, with its stages on.
func Example() {
	if err := example(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 3 places, the nearest 0 m away
	// query: 1 run
	// scan: 1 run
}

func example(out io.Writer) error {
	set, err := data.New(data.Small())
	if err != nil {
		return err
	}
	db, err := fake.New(fake.Config{Data: set, Waiter: emu.Spin, Cost: fake.Typical()})
	if err != nil {
		return err
	}
	defer db.Close()
	pool, err := pgxpool.ParseConfig(db.DSN()) // or that of a real PostGIS
	if err != nil {
		return err
	}
	rec := metrics.NewRecorder(spatial.Stages, metrics.WithSwitch(true))
	s, err := spatial.New(context.Background(), spatial.Options{Pool: pool, PoolSize: 10, Recorder: rec})
	if err != nil {
		return err
	}
	defer s.Close()
	at := set.Locations[data.Fixed-1]
	a, err := s.Answer(context.Background(), &bytes.Buffer{}, spatial.Query{Lon: at.Lon, Lat: at.Lat, Radius: 50_000, Limit: 3})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d places, the nearest %g m away\n", len(a.Places), a.Places[0].Meters)
	for _, stage := range []metrics.Stage{spatial.QueryStage, spatial.Scan} {
		d := rec.Snapshot().Stages[stage]
		fmt.Fprintf(out, "%s: %d run\n", d.Name, d.Dist.Count())
	}
	return nil
}
