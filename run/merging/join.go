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

// join makes the manifest of one run in place of several. Directories that differ in their shard alone
// become the run of their whole selection. The selection of other directories becomes the instances that
// they have.
func (b *builder) join() error {
	first := b.inputs[0].manifest
	m, request := *first, *first.Request
	m.Request = &request
	began := time.Now().UTC()
	m.Images, m.ModelIDs, m.Versions, m.Runs, m.Mixed = map[string]manifest.Image{}, nil, nil, nil, nil
	for _, in := range b.inputs {
		one := in.manifest
		if one.Created.Before(m.Created) {
			m.Created = one.Created
		}
		maps.Copy(m.Images, one.Images)
		m.ModelIDs = append(m.ModelIDs, one.ModelIDs...)
		m.Versions = append(m.Versions, one.Versions...)
		m.Runs = append(m.Runs, one.Runs...)
		m.Mix(&manifest.Manifest{Mixed: m.Mixed}, one.Mixed)
		if in != b.inputs[0] {
			earlier := m.Dataset
			m.Dataset = one.Dataset
			m.Dataset.Add(earlier)
		}
	}
	for _, names := range []*[]string{&m.ModelIDs, &m.Versions} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	slices.SortStableFunc(m.Runs, func(a, b manifest.Run) int { return a.Started.Compare(b.Started) })
	whole, err := b.findShards()
	if err != nil {
		return err
	}
	b.choose(&m, whole)
	ended := time.Now().UTC()
	m.Runs = append(m.Runs, manifest.Run{Started: began, Ended: &ended, Argv: b.Argv, CostLimit: request.CostLimit})
	b.manifest, b.merged.Dirs, b.merged.Listed = &m, len(b.inputs), request.InstancesFile != ""
	return nil
}

// choose sets what the merged request selects. Whole says that the directories' requests select
// the same, apart from their shard.
func (b *builder) choose(m *manifest.Manifest, whole bool) {
	r := m.Request
	r.Shard = ""
	r.CostLimit = limitOf(b.inputs, len(b.merged.Shards) > 0)
	r.Grade = slices.ContainsFunc(b.inputs, func(in *input) bool { return in.manifest.Request.Grade })
	if whole {
		m.Dataset.Selection = run.Selection(*r)
		return
	}
	r.Filter, r.Slice, r.InstancesFile, r.Shuffle = "", "", "", false
	r.Named = slices.Sorted(slices.Values(m.Dataset.Instances))
}

// findShards finds the shards and the missing ones, and reports whether the requests are equal apart from
// their shard.
func (b *builder) findShards() (whole bool, err error) {
	first := selecting(*b.inputs[0].manifest.Request)
	var shards []dataset.Shard
	n := 0
	for _, in := range b.inputs {
		part, err := dataset.ParseShard(in.manifest.Request.Shard)
		if err != nil {
			return false, err
		}
		n = cmp.Or(n, part.N)
		if part.N != n || !reflect.DeepEqual(selecting(*in.manifest.Request), first) {
			return false, nil
		}
		shards = append(shards, part)
	}
	if n <= 1 {
		return true, nil
	}
	slices.SortFunc(shards, func(a, b dataset.Shard) int { return a.I - b.I })
	b.merged.Shards = slices.Compact(shards)
	for i := range n {
		if s := (dataset.Shard{I: i + 1, N: n}); !slices.Contains(shards, s) {
			b.merged.Missing = append(b.merged.Missing, s)
		}
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

// limitOf returns the cost limit of the merged run: what shards divide, otherwise the sum of the
// directories' limits. A budget that a command has set replaces the limit of its directory. If one
// directory has no limit, the whole has none.
func limitOf(list []*input, shards bool) float64 {
	first, sum, parts, equal, set := list[0].manifest.Request.CostLimit, 0.0, 0.0, true, false
	for _, in := range list {
		r := in.manifest.Request
		shard, _ := dataset.ParseShard(r.Shard) //nolint:errcheck // it was read before
		may := r.CostLimit / float64(max(1, shard.N))
		parts += may
		equal = equal && r.CostLimit == first
		if in.force.Budget != nil {
			may, set = *in.force.Budget, true
		}
		if may == 0 {
			return 0
		}
		sum += may
	}
	switch {
	case shards && equal && set && first > 0:
		return sum + first - parts // with what the shards that are missing may cost
	case !set && (shards && equal || len(list) == 1 && list[0].manifest.Request.Shard == ""):
		return first
	}
	return sum
}
