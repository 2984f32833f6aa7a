package anthropic

import (
	"strconv"

	"batch.example/batch/internal/lazy"
)

// family holds the rules that follow from a model's name. The rules up to version 5 are from
// LiteLLM's registry (July 2026), models.dev and Anthropic's documentation; later ones
// are assumed to follow the last.
type family struct {
	line    string // opus, sonnet, haiku, ...; "" if it is not a Claude model
	version int    // 405 is 4.5
}

// Names as Anthropic, Bedrock and Vertex write them; older ones have the version first.
var (
	lineFirst    = lazy.Regexp(`claude-([a-z]+)-(\d)(?:[-.](\d{1,2}))?(?:[-@:\[]|$)`)
	versionFirst = lazy.Regexp(`claude-(\d)(?:[-.](\d{1,2}))?-([a-z]+)`)
)

func familyOf(model string) family {
	line, major, minor := "", "", ""
	if m := lineFirst().FindStringSubmatch(model); m != nil {
		line, major, minor = m[1], m[2], m[3]
	} else if m := versionFirst().FindStringSubmatch(model); m != nil {
		major, minor, line = m[1], m[2], m[3]
	}
	if line == "" {
		return family{}
	}
	high, _ := strconv.Atoi(major)
	low, _ := strconv.Atoi(minor) // 0 if it is missing
	return family{line, high*100 + low}
}

// adapts reports whether the model decides itself how long it thinks, within an effort.
func (f family) adapts() bool { return f.version >= 406 }

// budgets reports whether the model thinks within a budget of tokens.
func (f family) budgets() bool { return f.version >= 307 && f.version <= 406 }

// samples reports whether temperature, top_p and top_k may be set.
func (f family) samples() bool { return f.version < 407 }

// defaultTokens is used if max_tokens is not set, because the API requires a value. It is as much as a step
// can use, so that an endless answer is truncated. It is less for models before 4.5, which refuse a
// conversation that exceeds their context together with max_tokens; later ones end the answer there instead.
func (f family) defaultTokens() int {
	switch {
	case f.line == "":
		return 8192 // another provider's model behind the same protocol
	case f.version < 305:
		return 4096 // its maximum
	case f.version < 307:
		return 8192 // its maximum
	case f.version < 405:
		return 16000
	}
	return 64000 // the smallest maximum of later models
}
