package family

import (
	"encoding/json"
	"fmt"
	"strings"
)

// r2eCommit is the commit that solves an instance of R2E-Gym (commit_models/diff_classes.py), from
// column parsed_commit_content.
type r2eCommit struct {
	FileDiffs []struct {
		Header struct {
			File     r2eFile
			MiscLine string `json:"misc_line"`
		}
		IndexLine *struct {
			Old  string `json:"old_commit_hash"`
			New  string `json:"new_commit_hash"`
			Mode string
		} `json:"index_line"`
		MinusFile *r2eFile `json:"minus_file"`
		PlusFile  *r2eFile `json:"plus_file"`
		Hunks     []struct {
			Descriptor struct {
				OldRange r2eRange `json:"old_range"`
				NewRange r2eRange `json:"new_range"`
				Section  string
			}
			LineGroup struct {
				Lines []struct{ Content, Type string } `json:"all_lines"`
			} `json:"line_group"`
		}
	} `json:"file_diffs"`
}

type r2eFile struct{ Path string }

type r2eRange struct {
	Start  int
	Length *int
}

func (r r2eRange) String() string {
	if r.Length == nil {
		return fmt.Sprint(r.Start)
	}
	return fmt.Sprintf("%d,%d", r.Start, *r.Length)
}

var r2eLineMarks = map[string]string{"context": " ", "added": "+", "deleted": "-", "note": `\ `}

// r2eGold returns the patch that R2E-Gym uses to validate its rows: the commit's changes to Python
// files. It is "" if the column is missing or has another form.
func r2eGold(text string) string {
	var commit r2eCommit
	if json.Unmarshal([]byte(text), &commit) != nil {
		return ""
	}
	var b strings.Builder
	for _, f := range commit.FileDiffs {
		path := f.Header.File.Path
		if !strings.HasSuffix(path, ".py") {
			continue
		}
		fmt.Fprintf(&b, "diff --git a/%s b/%s\n", path, path)
		if f.Header.MiscLine != "" {
			fmt.Fprintln(&b, f.Header.MiscLine)
		}
		if f.IndexLine != nil {
			fmt.Fprintln(&b, strings.TrimSuffix("index "+f.IndexLine.Old+".."+f.IndexLine.New+" "+f.IndexLine.Mode, " "))
		}
		if f.MinusFile != nil && f.PlusFile != nil {
			fmt.Fprintf(&b, "--- %s\n+++ %s\n", f.MinusFile.Path, f.PlusFile.Path)
		}
		for _, h := range f.Hunks {
			head := fmt.Sprintf("@@ -%v +%v @@ %s", h.Descriptor.OldRange, h.Descriptor.NewRange, h.Descriptor.Section)
			fmt.Fprintln(&b, strings.TrimSuffix(head, " "))
			for _, line := range h.LineGroup.Lines {
				fmt.Fprintln(&b, r2eLineMarks[line.Type]+line.Content)
			}
		}
	}
	return b.String()
}
