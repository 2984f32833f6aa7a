package imagecache

// Need is one instance's need of an image.
type Need struct {
	ID     string // of the instance
	Ref    string // of the image: see [Ref]
	Commit string // of the image's git history; counts only for [Cache.Sharing]
}

// plan lists the images that a run will need, in the order in which its instances begin.
type plan struct {
	needs []Need
	begun map[string]bool // ids
	seen  map[string]bool // refs that were pulled ahead, or failed to be
}

func newPlan(needs []Need) plan {
	return plan{needs: needs, begun: map[string]bool{}, seen: map[string]bool{}}
}

// begin records that the instance id has begun: the plan no longer contains its need.
func (p *plan) begin(id string) {
	if p.begun != nil {
		p.begun[id] = true
	}
	for len(p.needs) > 0 && p.begun[p.needs[0].ID] {
		p.needs = p.needs[1:]
	}
}

// next returns for each image the place in the plan at which it is needed again.
func (p *plan) next() map[string]int {
	next := make(map[string]int, len(p.needs))
	for i, n := range p.needs {
		if _, ok := next[n.Ref]; !ok && !p.begun[n.ID] {
			next[n.Ref] = i
		}
	}
	return next
}

// ahead returns the needs of the first n images of instances that have not begun, the first of each
// image.
func (p *plan) ahead(n int) (first []Need) {
	seen := map[string]bool{}
	for _, need := range p.needs {
		if len(first) >= n {
			break
		}
		if !p.begun[need.ID] && !seen[need.Ref] {
			seen[need.Ref] = true
			first = append(first, need)
		}
	}
	return first
}
