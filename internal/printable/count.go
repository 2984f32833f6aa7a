package printable

import "fmt"

// Count is a number with its noun: "1 instance", "2 instances".
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Percent shows a share: "12.5 %".
func Percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
