package submission

import (
	"path"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
)

// Board is one of the leaderboard's lists: a dataset and a split.
type Board struct {
	Name      string // the folder below evaluation/ in the repository of entries
	Title     string // of the dataset
	Split     string // of the dataset
	Instances int    // number in the split; 0 if it differs between versions
	Subset    string // sb-cli's name of the dataset; "" if sb-cli has none
	Research  bool   // accepts only research teams with a publication
}

// boards has all lists, with the sizes of the published splits.
var boards = []Board{
	{Name: "lite", Title: "SWE-bench Lite", Split: "test", Instances: 300, Subset: "swe-bench_lite"},
	{Name: "verified", Title: "SWE-bench Verified", Split: "test", Instances: 500, Subset: "swe-bench_verified", Research: true},
	{Name: "test", Title: "SWE-bench", Split: "test", Instances: 2294},
	{Name: "multilingual", Title: "SWE-bench Multilingual", Split: "test", Instances: 300, Research: true},
	{Name: "multimodal", Title: "SWE-bench Multimodal", Split: "test", Subset: "swe-bench-m"},
}

// BoardNames returns the names that [FindBoard] accepts.
func BoardNames() []string {
	names := make([]string, len(boards))
	for i, b := range boards {
		names[i] = b.Name
	}
	return names
}

// FindBoard returns the list with a name, or a Usage fault that names the most similar one.
func FindBoard(name string) (Board, error) {
	if i := slices.IndexFunc(boards, func(b Board) bool { return b.Name == name }); i >= 0 {
		return boards[i], nil
	}
	return Board{}, fault.Newf(fault.Usage, "the leaderboard has no list %q", name).
		WithHint("%s", near.Hint(near.Name(name, BoardNames()), "expected "+strings.Join(BoardNames(), ", ")))
}

// BoardOf returns the list of a dataset and the split at the end of its name. The name may be an
// alias, the name on the hub, or the name of a file that is named after it, such as
// SWE-bench_Lite-dev.parquet. ok is false for every other dataset.
func BoardOf(dataset string) (b Board, split string, ok bool) {
	name, _, _ := strings.Cut(strings.ToLower(path.Base(strings.TrimRight(dataset, "/"))), ".")
	name = strings.NewReplacer("-", "", "_", "").Replace(name)
	for _, s := range []string{"test", "dev"} {
		if short, found := strings.CutSuffix(name, s); found && short != "" {
			name, split = short, s
		}
	}
	switch short := strings.TrimPrefix(name, "swebench"); {
	case name == "swebench", name == "full":
		name = "test"
	case short == "test":
		return Board{}, "", false
	default:
		name = short
	}
	b, err := FindBoard(name)
	return b, split, err == nil
}
