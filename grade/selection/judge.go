package selection

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strconv"

	"batch.example/batch/internal/lazy"
)

// Ballot is a judge's list of choices.
type Ballot struct {
	Groups []Group // candidate number i is Groups[i-1]
	// Boundary is a text that no candidate contains, since it depends on all of them: a candidate's
	// text is between two such lines.
	Boundary string
}

// NewBallot orders the groups of an instance by the seed, the instance and the patches alone, so
// that the position reveals nothing about the attempt.
func NewBallot(instance string, groups []Group, seed uint64) Ballot {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64(nil, seed))
	h.Write([]byte(instance))
	for _, g := range groups {
		sum := sha256.Sum256(g.Patch)
		h.Write(sum[:])
	}
	sum := h.Sum(nil)
	b := Ballot{Groups: make([]Group, len(groups)), Boundary: "candidate-" + hex.EncodeToString(sum[16:24])}
	r := rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])))
	for i, j := range r.Perm(len(groups)) {
		b.Groups[i] = groups[j]
	}
	return b
}

var selected = lazy.Regexp(`(?im)^[\s*_#>` + "`" + `]*selected[\s*_` + "`" + `]*:[\s*_#` + "`" + `]*([0-9]{1,6})[\s*_.` + "`" + `]*$`)

// Answer reads the reply of a judge: the number in its last line of the form "SELECTED: 2". It
// returns false if there is no such line, or no candidate with that number.
func (b Ballot) Answer(reply string) (Group, bool) {
	lines := selected().FindAllStringSubmatch(reply, -1)
	if len(lines) == 0 {
		return Group{}, false
	}
	n, err := strconv.Atoi(lines[len(lines)-1][1])
	if err != nil || n < 1 || n > len(b.Groups) {
		return Group{}, false
	}
	return b.Groups[n-1], true
}
