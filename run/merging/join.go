package merging

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run"
)

// joined is the manifest of one run in place of several, and the shards that they were.
type joined struct {
	manifest *manifest.Manifest
	shards   []dataset.Shard // sorted; empty if the directories are not shards of one run
}

// join returns the joined manifest. Directories that differ in their shard alone become the run of
// their whole selection. The selection of other directories becomes the instances that they have.
func join(list []*input, argv []string) (*joined, error) {
	first := list[0].manifest
	m, request := *first, *first.Request
	j := &joined{manifest: &m}
	m.Request = &request
	began := time.Now().UTC()
	m.Images, m.ModelIDs, m.Runs, m.Mixed = map[string]manifest.Image{}, nil, nil, nil
	for _, in := range list {
		one := in.manifest
		if one.Created.Before(m.Created) {
			m.Created = one.Created
		}
		maps.Copy(m.Images, one.Images)
		m.ModelIDs = append(m.ModelIDs, one.ModelIDs...)
		m.Runs = append(m.Runs, one.Runs...)
		m.Mix(&manifest.Manifest{Mixed: m.Mixed}, one.Mixed)
		if in != list[0] {
			earlier := m.Dataset
			m.Dataset = one.Dataset
			m.Dataset.Add(earlier)
		}
	}
	slices.Sort(m.ModelIDs)
	m.ModelIDs = slices.Compact(m.ModelIDs)
	slices.SortStableFunc(m.Runs, func(a, b manifest.Run) int { return a.Started.Compare(b.Started) })
	whole, err := j.findShards(list)
	if err != nil {
		return nil, err
	}
	j.choose(list, whole)
	ended := time.Now().UTC()
	m.Runs = append(m.Runs, manifest.Run{Started: began, Ended: &ended, Argv: argv, CostLimit: request.CostLimit})
	return j, nil
}

// choose sets what the merged request selects. Whole says that the directories' requests select
// the same, apart from their shard.
func (j *joined) choose(list []*input, whole bool) {
	m, r := j.manifest, j.manifest.Request
	r.Shard = ""
	requests := make([]run.Request, len(list))
	for i, in := range list {
		requests[i] = *in.manifest.Request
	}
	r.CostLimit = limitOf(requests, budgetsOf(list), len(j.shards) > 0)
	r.Grade = slices.ContainsFunc(list, func(in *input) bool { return in.manifest.Request.Grade })
	if whole {
		m.Dataset.Selection = run.Selection(*r)
		return
	}
	r.Filter, r.Slice, r.InstancesFile, r.Shuffle = "", "", "", false
	r.Named = slices.Sorted(slices.Values(m.Dataset.Instances))
}

// findShards sets the shards, and reports whether the requests are equal apart from them.
func (j *joined) findShards(list []*input) (whole bool, err error) {
	first := selecting(*list[0].manifest.Request)
	n := 0
	for _, in := range list {
		r := *in.manifest.Request
		part, err := dataset.ParseShard(r.Shard)
		if err != nil {
			return false, err
		}
		n = cmp.Or(n, part.N)
		if part.N != n || !reflect.DeepEqual(selecting(r), first) {
			j.shards = nil
			return false, nil
		}
		j.shards = append(j.shards, part)
	}
	slices.SortFunc(j.shards, func(a, b dataset.Shard) int { return a.I - b.I })
	j.shards = slices.Compact(j.shards)
	if n == 1 {
		j.shards = nil
	}
	return true, nil
}

// selecting returns only the members of a request that select instances, without the shard.
func selecting(r run.Request) run.Request {
	s := run.Request{Filter: r.Filter, Slice: r.Slice, InstancesFile: r.InstancesFile, Shuffle: r.Shuffle, Named: slices.Clone(r.Named)}
	if r.Shuffle {
		s.Seed = r.Seed
	}
	slices.Sort(s.Named)
	return s
}

// missing returns the shards that no directory has.
func (j *joined) missing() (list []dataset.Shard) {
	if len(j.shards) == 0 {
		return nil
	}
	for i := range j.shards[0].N {
		if s := (dataset.Shard{I: i + 1, N: j.shards[0].N}); !slices.Contains(j.shards, s) {
			list = append(list, s)
		}
	}
	return list
}

// limitOf returns the cost limit of the merged run: what shards divide, otherwise the sum of what the
// directories may cost. A budget that a command has set is what its directory may cost. A directory without
// a limit leaves the whole without one.
func limitOf(list []run.Request, budgets []*float64, shards bool) float64 {
	first, sum, parts, equal, set := list[0].CostLimit, 0.0, 0.0, true, false
	for i, r := range list {
		shard, _ := dataset.ParseShard(r.Shard) //nolint:errcheck // findShards has read it
		may := r.CostLimit / float64(max(1, shard.N))
		parts += may
		equal = equal && r.CostLimit == first
		if budgets[i] != nil {
			may, set = *budgets[i], true
		}
		if may == 0 {
			return 0
		}
		sum += may
	}
	switch {
	case shards && equal && set && first > 0:
		return sum + first - parts // with what the shards that are missing may cost
	case !set && (shards && equal || len(list) == 1 && list[0].Shard == ""):
		return first
	}
	return sum
}
