package session

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"testing"

	"batch.example/batch/agent"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// outputs is a store that only outputs are appended to.
type outputs struct {
	Store
	list []journal.OutputData
}

func (s *outputs) Append(_ string, data any) error {
	s.list = append(s.list, data.(journal.OutputData))
	return nil
}

func (s *outputs) Flush() error { return nil }

// The journal keeps 64 MiB of outputs. Of later ones it keeps the ends, and what the model
// was shown. A submission and a short output it keeps whole.
func TestTheEndsOfLaterOutputsAreKept(t *testing.T) {
	s := &outputs{}
	r := recorder{store: s, log: slog.New(slog.DiscardHandler), saving: func() func() { return func() {} }}
	large := bytes.Repeat([]byte("0123456789"), 2<<20)
	large[0], large[len(large)-1] = 'a', 'z'
	picture := append([]byte(vocab.PictureMark), large...)
	for i, c := range []struct {
		text  []byte
		shown string
		kept  int
	}{
		{large, "0", len(large)},
		{large, "0", len(large)},
		{large, "0", len(large)},
		{large, "0", 64 << 10},
		{large[:64<<10], "0", 64 << 10},
		{large, "", len(large)}, // a submission
		{large[:64<<10+1], "0", 64 << 10},
		{picture, "0", 64 << 10}, // it is not shown
		{picture, "", len(picture)},
	} {
		o := vocab.Output{Bytes: c.text, Total: int64(len(c.text))}
		if err := r.output(agent.Event{Type: agent.EventOutput, Step: i + 1, Action: 1, Output: &o, Shown: c.shown}); err != nil {
			t.Fatal(err)
		}
		got, cut := s.list[i], c.kept < len(c.text)
		if len(got.Kept) != c.kept || (got.Shown == "0") != cut || got.Total != o.Total || got.SHA256 != Sum(c.text) {
			t.Errorf("output %d: %d of %d bytes are kept, shown %q; want %d bytes and the digest of all", i+1, len(got.Kept), got.Total, got.Shown, c.kept)
		}
		if !bytes.HasPrefix(c.text, got.Kept[:32<<10]) || !bytes.HasSuffix(c.text, got.Kept[len(got.Kept)-32<<10:]) {
			t.Errorf("output %d: what is kept is not its beginning and its end", i+1)
		}
	}
}

// A call that was cut off costs about what is expected of it: not less in sum, and not twice as much.
func TestWhatACutCallMayCostIsExpectedClosely(t *testing.T) {
	for name, c := range map[string]struct {
		cached, writes        bool
		cache, write, written float64 // prices, relative to an input token
		most                  float64
	}{
		"no cache":                 {false, false, 1, 1, 4, 1.3},
		"a cache":                  {true, false, 0.25, 1, 3, 1.6},
		"a cheap cache":            {true, false, 0.1, 1, 8, 1.9},
		"a cache that is paid for": {true, true, 0.1, 1.25, 5, 1.9},
	} {
		price := func(u vocab.Usage) float64 {
			return 3e-6 * (float64(u.Input-u.Cached-u.CacheWrite) + float64(u.Cached)*c.cache + float64(u.CacheWrite)*c.write + float64(u.Output)*c.written)
		}
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			expected, cost, highest, calls := 0.0, 0.0, 0.0, 0
			for range 300 {
				x := expectation{}
				perToken := 3.2 + rng.Float64() // bytes
				input, estimate := int64(2000/perToken*4), int64(2000)
				var last vocab.Usage
				for range 10 + rng.IntN(60) {
					x.tokens = estimate
					u := vocab.Usage{Input: input, Output: 50 + int64(rng.ExpFloat64()*250)}
					if c.cached {
						u.Cached = last.Input
					}
					if c.writes {
						u.CacheWrite = u.Input - u.Cached
					}
					if d := x.dollars(); d > 0 { // before the first answer nothing is known
						highest, calls = max(highest, price(u)), calls+1
						expected, cost = expected+d, cost+price(u)
					}
					x.answered(u, price(u))
					added := 200 + rng.ExpFloat64()*2000 // bytes of the output that follows
					estimate = u.Input + u.Output + int64(added/4)
					input, last = u.Input+u.Output+int64(added/perToken), u
				}
			}
			t.Logf("expected %.2f times the cost; the most expensive call would be %.2f times", expected/cost, highest*float64(calls)/cost)
			if expected < cost || expected > c.most*cost {
				t.Errorf("expected $%.2f, the calls cost $%.2f", expected, cost)
			}
		})
	}
}

// Some servers do not count cached tokens as input. An expectation of them is still a cost.
func TestMoreCachedThanInputTokensAreACostToo(t *testing.T) {
	for _, u := range []vocab.Usage{{Input: 9, Cached: 10}, {Input: 100, Cached: 20_000, Output: 300}} {
		x := expectation{tokens: 200}
		x.answered(u, 0.01)
		if d := x.dollars(); d <= 0 || d > 100 {
			t.Errorf("%+v: $%v is expected after a call of $0.01", u, d)
		}
	}
}
