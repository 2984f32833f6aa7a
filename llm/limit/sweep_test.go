package limit_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/llm"
	"batch.example/batch/llm/limit"
)

// sweep is a run of conversations, a number of them at once.
type sweep struct{ conversations, steps, workers int }

var usual = sweep{200, 20, 64}

// part of it, with two of the bursts, is enough where the limit is known from the beginning.
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

// least returns how long a sweep takes at least: calls start evenly, at perMinute, in the
// order in which they come, except in outages.
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
						continue // nothing is refused, so that it says nothing
					}
					s := usual
					if given > 0 || says == saysHeaders {
						s = part
					}
					least, calls := atLeast[s], s.conversations*s.steps
					name := fmt.Sprintf("%s, it says %s, %d given, %d outages", counts, said, given, len(outages)/2)
					t.Run(name, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							p := &provider{meter: meter, says: says, limit: 600, outages: outages}
							client := p.serve()
							m := llm.Calls{Gate: limit.New(limit.Limits{Requests: given})}.Compose(newModel(client, "key"))
							took, waited := s.run(t, func(id string) (*llm.Response, error) { return ask(t, m, id, 1000) })
							t.Logf("%v, at least %v (%+.1f %%), %d refused (%.2f %%), %v waited", took.Round(time.Second/10), least.Round(time.Second/10),
								100*(took.Seconds()/least.Seconds()-1), p.refused, 100*float64(p.refused)/float64(calls), waited.Round(time.Second))
							most, refused := time.Duration(105), calls/50
							switch {
							case given > 0 || says != saysNothing:
							case counts == "a sliding window": // full minutes of refusals look like a far lower limit
								most, refused = 160, calls*8/100
							default: // nothing tells a limit from an outage
								most, refused = 110, calls/20
							}
							if took > least*most/100 {
								t.Errorf("it took %v, want at most %d %% of %v", took, most, least)
							}
							if p.refused > refused {
								t.Errorf("%d requests of %d were refused, want at most %d", p.refused, calls, refused)
							}
						})
					})
				}
			}
		}
	}
}

// The first calls of a run come one by one, while images are pulled. That they were few says
// nothing of the limit that the others meet.
func TestFewCallsBeforeASweepDoNotSlowItDown(t *testing.T) {
	for says, name := range []string{"nothing", "Retry-After"} {
		t.Run("it says "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &provider{meter: func() meter { return &bucket{size: 8, rate: 4} }, says: says}
				m := llm.Calls{Gate: limit.New(limit.Limits{})}.Compose(newModel(p.serve(), "key"))
				for range 3 {
					if _, err := ask(t, m, "early", 0); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
				}
				s := sweep{50, 20, 64}
				took, _ := s.run(t, func(id string) (*llm.Response, error) { return ask(t, m, id, 0) })
				if least := 250 * time.Second; took > least*11/10 { // 1000 calls at 4 a second
					t.Errorf("it took %v, want at most 110 %% of %v", took, least)
				}
			})
		})
	}
}

// The last conversations of a run, and the only one of a run with one worker, come out of
// frequent outages although no other conversation waits.
func TestALoneConversationGetsThroughFrequentOutages(t *testing.T) {
	var outages []time.Duration
	for at := time.Duration(0); at < 3*time.Hour; at += 8 * time.Second {
		outages = append(outages, at, at+5*time.Second)
	}
	for said, says := range map[string]int{"headers": saysHeaders, "Retry-After": saysRetryAfter, "nothing": saysNothing} {
		t.Run("it says "+said, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &provider{meter: func() meter { return &bucket{size: 15, rate: 15} }, says: says, limit: 900, outages: outages}
				client := p.serve()
				m := llm.Calls{Gate: limit.New(limit.Limits{})}.Compose(newModel(client, "key"))
				for _, s := range []sweep{{20, 3, 16}, {3, 10, 1}} {
					took, _ := s.run(t, func(id string) (*llm.Response, error) { return ask(t, m, id, 0) })
					t.Logf("%+v: %v, %d refused", s, took.Round(time.Second/10), p.refused)
					if took > 15*time.Minute {
						t.Errorf("%+v took %v, want at most 15 minutes", s, took)
					}
				}
			})
		})
	}
}
