package evaluate

import (
	"fmt"
	"strings"
)

// forbidden says why a patch or a row must not name a path; it is empty if the path is allowed.
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
