package grades

// Basis identifies everything that a verdict depends on, except the patch, the eval script,
// the rules and the image, which a [Grade] names itself. Each member is a digest, or a short
// value itself. A zero Basis means that an old version of batch did not record it.
type Basis struct {
	Tests   string `json:"tests"`            // the expected tests, in order, and how they are checked
	Parser  string `json:"parser,omitempty"` // the bytes of the program that reads the log; empty: batch reads it
	Setup   string `json:"setup,omitempty"`  // the commands before the patch is applied
	Files   string `json:"files"`            // the files that are put back, to which commit, and what the tests need beside the script
	Gold    string `json:"gold"`             // the patch that resolves the instance, with its version of files that a run leaves out
	Limits  string `json:"limits"`           // of time and of the container, and the container's user and settings
	Network string `json:"network"`          // of the tests
	Rules   int    `json:"rules"`            // number of batch's own rules about what decides a verdict, see package evaluate
}

// Changed names the differences between b and an earlier basis, for a person; empty: there
// are none.
func (b Basis) Changed(was Basis) string {
	switch {
	case was == (Basis{}):
		return "what it was judged by was not recorded"
	case b.Rules != was.Rules:
		return "this version of batch has other rules about what decides a verdict"
	}
	for _, part := range []struct{ now, was, text string }{
		{b.Tests, was.Tests, "the expected tests have changed"},
		{b.Parser, was.Parser, "the program that reads the log has changed"},
		{b.Setup, was.Setup, "what prepares the repository has changed"},
		{b.Files, was.Files, "the files of the tests have changed"},
		{b.Gold, was.Gold, "the gold patch has changed"},
		{b.Limits, was.Limits, "the limits or settings of its container have changed"},
		{b.Network, was.Network, "the network of the tests has changed"},
	} {
		if part.now != part.was {
			return part.text
		}
	}
	return ""
}
