package limit_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/llm"
	"batch.example/batch/llm/limit"
)

// sweep is a run of conversations, some of them concurrently.
type sweep struct{ conversations, steps, workers int }

var usual = sweep{200, 20, 64}

// part is a smaller sweep, with two bursts, which is enough if the limit is known from the beginning.
var part = sweep{80, 20, 64}

// run returns how long the sweep took, and how long calls waited for the limit.
func (s sweep) run(t *testing.T, ask func(id string) (*llm.Response, error)) (took, limited time.Duration) {
	t.Helper()
	began := time.Now()
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(s.workers)
	for c := range s.conversations {
		g.Go(func() error {
			for step := range s.steps {
				resp, err := ask(fmt.Sprintf("%d.%d", c, step))
				if err != nil {
					return err
				}
				mu.Lock()
				limited += resp.RateLimited
				mu.Unlock()
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Errorf("a call failed: %v", err)
	}
	return time.Since(began), limited
}

func ask(t *testing.T, m llm.Model, id string, tokens int64) (*llm.Response, error) {
	return m.Generate(t.Context(), &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: id}}}}, Tokens: tokens})
}

// least returns the shortest possible time of a sweep: calls start evenly, at perMinute, in their order of
// arrival, except in outages.
func (s sweep) least(t *testing.T, perMinute int, outages []time.Duration) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		next := began
		var mu sync.Mutex
		took, _ = s.run(t, func(id string) (*llm.Response, error) {
			mu.Lock()
			if now := time.Now(); next.Before(now) {
				next = now
			}
			for i := 0; i+1 < len(outages); i += 2 {
				if since := next.Sub(began); since >= outages[i] && since < outages[i+1] {
					next = began.Add(outages[i+1])
				}
			}
			start := next
			next = next.Add(time.Minute / time.Duration(perMinute))
			mu.Unlock()
			time.Sleep(time.Until(start) + time.Duration(delay(id)*float64(time.Second)))
			return &llm.Response{}, nil
		})
	})
	return took
}

// A provider that accepts 600 requests a minute refuses at most one in twenty, and at least 85 percent of its
// limit is used, whatever is known of it. Refusals in outages do not count.
func TestASweepUsesTheLimitAndIsHardlyRefused(t *testing.T) {
	seconds := func(list ...int) (d []time.Duration) {
		for _, s := range list {
			d = append(d, time.Duration(s)*time.Second)
		}
		return d
	}
	bursts := seconds(50, 54, 130, 137, 260, 263, 330, 335)
	meters := map[string]func() meter{
		"a full bucket":    func() meter { return &bucket{size: 600, rate: 10} },
		"a small bucket":   func() meter { return &bucket{size: 10, rate: 10} },
		"a sliding window": func() meter { return &window{limit: 600} },
	}
	says := map[string]int{"headers": saysHeaders, "Retry-After": saysRetryAfter, "nothing": saysNothing}
	for _, outages := range [][]time.Duration{nil, bursts} {
		atLeast := map[sweep]time.Duration{usual: usual.least(t, 600, outages), part: part.least(t, 600, outages)}
		for counts, meter := range meters {
			for said, says := range says {
				for _, given := range []int64{600, 0} {
					if given > 0 && outages == nil && says != saysNothing {
						continue // no request is refused, so that reports make no difference
					}
					s := usual
					if given > 0 || says == saysHeaders {
						s = part
					}
					least, calls := atLeast[s], s.conversations*s.steps
					name := fmt.Sprintf("%s, reports %s, %d given, %d outages", counts, said, given, len(outages)/2)
					t.Run(name, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							p := &provider{meter: meter, says: says, limit: 600, outages: outages}
							client := p.serve()
							m := llm.Calls{Gate: limit.New(limit.Limits{Requests: given})}.Compose(newModel(client, "key"))
							took, waited := s.run(t, func(id string) (*llm.Response, error) { return ask(t, m, id, 1000) })
							t.Logf("%v, at least %v (%+.1f %%), %d refused (%.2f %%), %v waited", took.Round(time.Second/10), least.Round(time.Second/10),
								100*(took.Seconds()/least.Seconds()-1), p.refused, 100*float64(p.refused)/float64(calls), waited.Round(time.Second))
							if took > least*115/100 {
								t.Errorf("it took %v, want at most 115 %% of %v", took, least)
							}
							most := calls / 20
							if outages != nil {
								most = calls * 8 / 100
							}
							if p.refused > most {
								t.Errorf("%d requests of %d were refused, want at most %d", p.refused, calls, most)
							}
						})
					})
				}
			}
		}
	}
}

// unknown is a provider whose limit is not known, with the expected results of a sweep.
type unknown struct {
	name    string
	at      *provider
	given   int64
	early   int // calls before the sweeps, a minute apart
	sweeps  []sweep
	most    time.Duration // upper bound for each sweep
	refused int           // upper bound; 0 for none
}

func TestCallsGoOnWhereNoLimitIsKnown(t *testing.T) {
	meter := func(size, perSecond float64) func() meter {
		return func() meter { return &bucket{size: size, rate: perSecond} }
	}
	says := []string{saysNothing: "nothing", saysRetryAfter: "Retry-After", saysHeaders: "headers"}
	var all []unknown
	for said := range says {
		// A router refuses a share of all requests, however few there are, if one of the providers behind it
		// is overloaded: a lower rate does not help then.
		for _, share := range []float64{0.03, 0.1, 0.15, 0.2, 0.3, 0.5} {
			random, times := rand.New(rand.NewPCG(1, 2)), time.Duration(8)
			if share > 0.2 { // pauses, after two in a row
				times = 16
			}
			all = append(all, unknown{
				name:   fmt.Sprintf("%v of all are refused", share),
				at:     &provider{meter: meter(1e6, 1e6), says: said, limit: 60_000, unlucky: func() bool { return random.Float64() < share }},
				sweeps: []sweep{{64, 20, 16}}, most: times * 128 * time.Second, // 80 calls of 1.6 s by each worker
			})
		}
		// The last conversations of a run, and the only one of a run with one worker, recover from frequent
		// outages although no other conversation waits.
		var outages []time.Duration
		for at := time.Duration(0); at < 3*time.Hour; at += 8 * time.Second {
			outages = append(outages, at, at+5*time.Second)
		}
		all = append(all, unknown{
			name:   "frequent outages",
			at:     &provider{meter: meter(15, 15), says: said, limit: 900, outages: outages},
			sweeps: []sweep{{20, 3, 16}, {3, 10, 1}}, most: 15 * time.Minute,
		})
		if said == saysHeaders {
			continue
		}
		// Some providers limit concurrent calls, at any rate.
		for _, given := range []int64{0, 6000} {
			all = append(all, unknown{
				name:  fmt.Sprintf("8 at once, %d a minute given", given),
				at:    &provider{meter: meter(1e6, 1e6), says: said, atOnce: 8, latency: func(id string) float64 { return 2 * delay(id) }},
				given: given, sweeps: []sweep{{32, 30, 32}}, most: 384 * time.Second * 5 / 4, refused: 96, // 960 calls of 3.2 s
			})
		}
		// Two concurrent calls reach a low limit: only pauses keep it.
		for _, perMinute := range []float64{10, 60} {
			all = append(all, unknown{
				name:   fmt.Sprintf("%v a minute", perMinute),
				at:     &provider{meter: meter(1, perMinute/60), says: said, latency: func(string) float64 { return 0.5 }},
				sweeps: []sweep{{6, 50, 3}}, most: time.Duration(300/perMinute*float64(time.Minute)) * 8 / 5, refused: 900,
			})
		}
		// The first calls of a run come one by one, while images are pulled. Their small number says nothing
		// about the limit.
		all = append(all, unknown{
			name:  "few calls before a sweep",
			at:    &provider{meter: meter(8, 4), says: said},
			early: 3, sweeps: []sweep{{50, 20, 64}}, most: 275 * time.Second, // 1000 calls at 4 a second
		})
		// Nor does the refusal of one of them, for an unknown reason.
		first := true
		all = append(all, unknown{
			name: "the first call is refused",
			at: &provider{meter: meter(1e6, 1e6), says: said, latency: func(string) float64 { return 5 }, unlucky: func() bool {
				was := first
				first = false
				return was
			}},
			early: 1, sweeps: []sweep{{64, 60, 64}}, most: 390 * time.Second, refused: 1, // 300 s without a limit
		})
	}
	for _, l := range all {
		t.Run(l.name+", reports "+says[l.at.says], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := llm.Calls{Gate: limit.New(limit.Limits{Requests: l.given})}.Compose(newModel(l.at.serve(), "key"))
				for range l.early {
					if _, err := ask(t, m, "early", 0); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
				}
				for _, s := range l.sweeps {
					took, _ := s.run(t, func(id string) (*llm.Response, error) { return ask(t, m, id, 0) })
					t.Logf("%v, %d refused", took.Round(time.Second), l.at.refused)
					if took > l.most || l.refused > 0 && l.at.refused > l.refused {
						t.Errorf("%+v took %v, %d refused; want at most %v, %d", s, took, l.at.refused, l.most, l.refused)
					}
				}
			})
		})
	}
}
