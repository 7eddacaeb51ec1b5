package submit_test

import (
	"context"
	"testing"

	"latlab.example/rawblock"
	"latlab.example/rawblock/submit"
)

// nowhere stores nothing, at once.
type nowhere struct{}

func (nowhere) Has(rawblock.Key) bool { return false }
func (nowhere) PutMany(_ context.Context, keys []rawblock.Key, _ [][]byte) (rawblock.PutResult, error) {
	return rawblock.PutResult{Written: len(keys)}, nil
}

// BenchmarkSubmit is what a hundred keys cost from Submit to Done, without a
// store's part: the price of the look-up within the lock is the difference.
func BenchmarkSubmit(b *testing.B) {
	for _, dedup := range submit.DedupToggle.Levels() {
		b.Run("dedup="+string(dedup), func(b *testing.B) {
			done := make(chan struct{}, 1)
			s := open(b, nowhere{}, submit.Options{Dedup: dedup, Done: func(submit.Outcome) { done <- struct{}{} }})
			keys, objects := some(0, 100)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Submit(b.Context(), keys, objects); err != nil {
					b.Fatal(err)
				}
				<-done
			}
		})
	}
}
