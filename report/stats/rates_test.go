package stats

import (
	"math"
	"slices"
	"strconv"
	"testing"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.12g, want %.12g", what, got, want)
	}
}

func nearInterval(t *testing.T, what string, got, want Interval, tolerance float64) {
	t.Helper()
	near(t, what+", low end,", got.Low, want.Low, tolerance)
	near(t, what+", high end,", got.High, want.High, tolerance)
}

// paired returns pairs with these differences. clusters has one letter for each pair.
func paired(clusters string, diffs ...float64) []Pair {
	pairs := make([]Pair, len(diffs))
	for i, d := range diffs {
		pairs[i] = Pair{Cluster: clusters[i : i+1], A: max(0, -d), B: max(0, d)}
	}
	return pairs
}

const (
	third = 1.0 / 3
	repos = "aabcccdeffghhb" // eight, of unequal size
)

// The expected values are from a program in Python, written from the documentation with exact
// fractions: all subsets of the clusters and the two added results; equal values share their middle
// rank; an end of the interval and 0 are interpolated linearly between ranks. If all values are the
// same, the ends are the ends of Clopper and Pearson's interval: 1 - 0.025^(1/n), or 0.025^(1/n).
func TestRateDifferenceIsThatOfAllSubsets(t *testing.T) {
	single := []float64{1, -1, 1, 0, 1, 1, -1, 0, 1, 1, 0, 1, 1, 0}
	thirds := []float64{third, -2 * third, 1, 0, 2 * third, third, -third, 0, 1, third, 0, 2 * third, 1, -third}
	two := []float64{1, 0, -1, 1, 0, 0, 1, -1}
	for _, c := range []struct {
		name     string
		pairs    []Pair
		want     Interval
		p, least float64
		method   Method
	}{
		{name: "eight repositories", pairs: paired(repos, single...), want: Interval{-0.23636363636363636, 0.775599128540305}, p: 0.1328125, least: 0.0078125, method: ByRepository},
		{name: "three attempts", pairs: paired(repos, thirds...), want: Interval{-0.15247252747252749, 0.5729323308270676}, p: 0.1328125, least: 0.0078125, method: ByRepository},
		{name: "two repositories", pairs: paired("abababab", two...), want: Interval{-0.5490196078431373, 0.7321428571428571}, p: 0.6953125, least: 0.0078125, method: ByInstance},
		{name: "five instances", pairs: paired("aaaaa", 1, 1, 1, 1, 1), want: Interval{2*0.4781762498950185 - 1, 1}, p: 0.0625, least: 0.0625, method: ByInstance},
		{name: "six instances", pairs: paired("aaaaaa", 1, 1, 1, 1, 1, 1), want: Interval{2*0.5407419 - 1, 1}, p: 0.03125, least: 0.03125, method: ByInstance},
		{name: "none differs", pairs: paired("aaaaaaaa", 0, 0, 0, 0, 0, 0, 0, 0), want: Interval{-0.3694166, 0.3694166}, p: 1, least: 0.0078125, method: ByInstance},
	} {
		got := Bootstrap{}.RateDifference(c.pairs)
		nearInterval(t, c.name, got.Interval, c.want, 1e-7)
		near(t, c.name+", p", got.P, c.p, 1e-12)
		near(t, c.name+", least p", got.LeastP, c.least, 1e-12)
		if got.Method != c.method {
			t.Errorf("%s: %q, want %q", c.name, got.Method, c.method)
		}
	}
	rates := func(values []float64, clusters string) ([]float64, []string) {
		var names []string
		for i := range values {
			names = append(names, clusters[i:i+1])
		}
		return values, names
	}
	for _, c := range []struct {
		name     string
		values   []float64
		clusters string
		want     Interval
	}{
		{"rate", []float64{1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0}, repos, Interval{0.35984848484848486, 0.96875}},
		{"rate of three attempts", []float64{third, 2 * third, 1, 0, 2 * third, third, third, 0, 1, third, 0, 2 * third, 1, third}, repos, Interval{0.2328042328042328, 0.6862745098039216}},
		{"none resolved", make([]float64, 8), "aaaaaaaa", Interval{0, 0.3694166}},
		{"all resolved", []float64{1, 1, 1, 1, 1}, "aaaaa", Interval{0.4781762, 1}},
	} {
		values, clusters := rates(c.values, c.clusters)
		got, _ := Bootstrap{}.Rate(values, clusters)
		nearInterval(t, c.name, got, c.want, 1e-7)
	}
}

func exchanged(pairs []Pair) []Pair {
	other := slices.Clone(pairs)
	for i, p := range pairs {
		other[i].A, other[i].B = p.B, p.A
	}
	return other
}

func TestRatesOfNothingAndOfTheImpossible(t *testing.T) {
	if got := (Bootstrap{}).RateDifference(nil); got.Interval != (Interval{-1, 1}) || got.P != 1 {
		t.Errorf("of no pairs: %+v", got)
	}
	if got, _ := (Bootstrap{}).Rate(nil, nil); got != (Interval{0, 1}) {
		t.Errorf("of no values: %v", got)
	}
	for _, bad := range []Pair{{A: math.NaN()}, {B: 1.1}, {A: -1}, {B: math.Inf(1)}} {
		pairs := append(paired("aaaaaaaa", 1, 0, 1, 0, 1, 0, 0, 0), bad)
		if got := (Bootstrap{}).RateDifference(pairs); got.Interval.Known() || !math.IsNaN(got.P) {
			t.Errorf("with %v: %+v, want unknown", bad, got)
		}
	}
	if got, _ := (Bootstrap{}).Rate([]float64{1, 2}, []string{"", ""}); got.Known() {
		t.Errorf("of 2: %v, want unknown", got)
	}
	if got, _ := (Bootstrap{}).Rate([]float64{1}, nil); got.Known() {
		t.Errorf("without a cluster's name: %v, want unknown", got)
	}
	if got := (Bootstrap{Level: 3}).RateDifference(paired("aa", 1, 0)); got.Interval.Known() {
		t.Errorf("at level 3: %+v, want unknown", got)
	}
}

// For any pairs of rates there is no panic, and the interval has a width, contains the difference,
// excludes 0 exactly if p is low enough, is negated when the sides are exchanged, and grows with
// the level.
func FuzzRateDifference(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, uint8(3), uint8(1))
	f.Add([]byte("a benchmark has twelve repositories, one of them with half of the instances"), uint8(12), uint8(4))
	f.Add([]byte("\x10\x10\x10\x10\x10\x10\x10\x10\x10\x10"), uint8(7), uint8(0))
	f.Add([]byte{}, uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, repos, attempts uint8) {
		pairs, k := make([]Pair, min(len(data), 300)), int(attempts%5)+1
		for i := range pairs {
			pairs[i].A = float64(int(data[i]>>4)%(k+1)) / float64(k)
			pairs[i].B = float64(int(data[i]&15)%(k+1)) / float64(k)
			if repos > 0 {
				pairs[i].Cluster = strconv.Itoa(i * i % int(repos))
			}
		}
		b := Bootstrap{Draws: 2000}
		got := b.RateDifference(pairs)
		in := got.Interval
		if !in.Known() || !(in.High > in.Low) || in.Low < -1 || in.High > 1 || !(got.P >= got.LeastP && got.P <= 1) {
			t.Fatalf("%+v", got)
		}
		mean := 0.0
		for _, p := range pairs {
			mean += (p.B - p.A) / float64(len(pairs))
		}
		if mean < in.Low-1e-9 || mean > in.High+1e-9 {
			t.Errorf("%+v does not contain %v", got, mean)
		}
		if in.Contains(0) == b.Shows(got.P) {
			t.Errorf("%+v: interval and p do not agree", got)
		}
		other := b.RateDifference(exchanged(pairs))
		nearInterval(t, "exchanged", other.Interval, Interval{Low: -in.High, High: -in.Low}, 1e-9)
		near(t, "p, exchanged", other.P, got.P, 1e-9)
		if byCluster(pairs).clusters >= (Bootstrap{}).Least() { // otherwise the levels resample different units
			if less := (Bootstrap{Draws: 2000, Level: 0.8}).RateDifference(pairs).Interval; less.Low < in.Low-1e-9 || less.High > in.High+1e-9 {
				t.Errorf("at 0.8 %v is not in %v", less, in)
			}
		}
	})
}

// The ends that replace 0 and 1 are those of Clopper and Pearson's tables.
func TestARateWithFailuresAndSuccessesExcludesTheEnds(t *testing.T) {
	alone := make([]string, 5)
	got, _ := Bootstrap{}.Rate([]float64{1, 1, 1, 1, 0}, alone)
	near(t, "4 of 5, high end,", got.High, 0.99494924, 1e-7)
	got, _ = Bootstrap{}.Rate([]float64{0, 0, 0, 0, 1}, alone)
	near(t, "1 of 5, low end,", got.Low, 0.00505076, 1e-7)
	for n := 2; n < 60; n++ {
		values, clusters := make([]float64, n), make([]string, n)
		for i := range n {
			clusters[i] = strconv.Itoa(i * i % 9)
		}
		for failures := 1; failures < n; failures++ {
			values[failures] = 1
			if in, _ := (Bootstrap{Draws: 1000}).Rate(values, clusters); in.Low <= 0 || in.High >= 1 || in.Low > in.High {
				t.Fatalf("%d of %d: %v", failures, n, in)
			}
		}
	}
}
