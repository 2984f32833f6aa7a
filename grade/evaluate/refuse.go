package evaluate

import (
	"fmt"
	"strings"
)

// forbidden says why a path is none that a patch or a row may name; it is empty if it is one.
func forbidden(name string) string {
	for folder := range strings.SplitSeq(name, "/") {
		switch {
		case folder == "..":
			return fmt.Sprintf("the patch names %s, which is outside of the repository", name)
		case strings.EqualFold(folder, ".git"):
			return fmt.Sprintf("the patch names %s, which belongs to git", name)
		}
	}
	return ""
}
