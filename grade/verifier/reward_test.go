package verifier

import (
	"math"
	"strings"
	"testing"

	"batch.example/batch/vocab"
)

// The rules are Harbor's: an object of numbers by name, or one number. What is not a number is no
// reward.
func TestRewards(t *testing.T) {
	const resolved, unresolved, none = vocab.VerdictResolved, vocab.VerdictUnresolved, vocab.VerdictNoReward
	for _, c := range []struct {
		json string
		want vocab.Verdict
	}{
		{`{"reward": 1}`, resolved},
		{`{"reward": 1.0}`, resolved},
		{` {"correctness": 1}` + "\n", resolved},
		{`{"reward": 1, "style": 0.2}`, resolved},
		{`{"a": 1, "b": 1}`, unresolved},
		{`{"reward": 0.9999}`, unresolved},
		{`{"reward": 2}`, unresolved},
		{`{"reward": -1}`, unresolved},
		{`{"reward": true}`, none},
		{`{"reward": null}`, none},
		{`{"reward": "1"}`, none},
		{`{"reward": 1, "more": {"a": 1}}`, none},
		{`{"reward": [1]}`, none},
		{`{"reward": NaN}`, none},
		{`{"reward": 1e999}`, none},
		{`{}`, none},
		{`[1]`, none},
		{`1`, none},
		{`null`, none},
		{``, none},
		{`{"reward": 1`, none},
		{`{"reward": 1} {"reward": 0}`, none},
		{`{"reward": 1, "pad": "` + strings.Repeat("x", mostReward) + `"}`, none},
	} {
		if got := judge(parseJSON([]byte(c.json))); got.Verdict != c.want || (got.Why == "") != (c.want == resolved) || (got.Rewards == nil) != (c.want == none) {
			t.Errorf("%.60s: %+v, want %s", c.json, got, c.want)
		}
	}
	for text, want := range map[string]vocab.Verdict{
		"1": resolved, "1.0\n": resolved, " 1e0 ": resolved, "0": unresolved, "0.5": unresolved, "": none, "nan": none, "Infinity": none,
		"true": none, "1 1": none, "0x1p0": none,
	} {
		if got := judge(parseText([]byte(text))); got.Verdict != want {
			t.Errorf("%q: %+v, want %s", text, got, want)
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(`{"reward": 1, "b": 0.5}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rewards, err := parseJSON(data)
		if (err == nil) != (len(rewards) > 0) {
			t.Errorf("%v, %v", rewards, err)
		}
		for name, r := range rewards {
			if math.IsNaN(r) || math.IsInf(r, 0) {
				t.Errorf("%s is %v", name, r)
			}
		}
	})
}
