package journal

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A head is read as any reader of JSON reads it.
func TestAHeadIsReadAsJSON(t *testing.T) {
	at := time.Date(2026, 11, 26, 14, 15, 48, 743599852, time.UTC)
	for _, r := range []Record{
		{Version: 2, Seq: 1, Attempt: 1, Time: at, Type: TypeAttempt},
		{Version: 3, Seq: 1 << 40, Attempt: 12, Start: 1 << 33, Calls: 250, Cost: 1.25e-7, Lost: 3, Spent: 0.3, Time: at, Type: TypeSummaryRequest},
		{Version: 4, Seq: 9, Attempt: 2, Cost: 17, Spent: 18.5, Time: at.Truncate(time.Second), Type: TypeTurnEnd},
	} {
		line := string(appendHead(nil, &r))
		head := line[:len(line)-len(dataMember)]
		got, usual := readHead(head)
		var want Record
		if err := json.Unmarshal([]byte(head+"}"), &want); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" || !usual {
			t.Errorf("%s: usual %v, result (-want +got):\n%s", head, usual, d)
		}
	}
	for _, head := range []string{
		"", "{", `{"seq":1`, `{"v":1.5,"seq":1,"attempt":1,"start":0,"calls":0,"cost":0,"t":"2026-11-26T14:15:48Z","type":"end"`,
		`{"v":1,"seq":1,"attempt":1,"start":0,"calls":0,"cost":0,"t":"yesterday","type":"end"`,
		`{"v":1,"seq":1,"attempt":1,"start":0,"calls":0,"cost":0,"t":"2026-11-26T14:15:48Z","type":"end","more":1`,
		`{"v":1,"seq":1,"attempt":1,"start":0,"calls":0,"cost":0,"t":"2026-11-26T14:15:48Z"`,
	} {
		if r, usual := readHead(head); usual {
			t.Errorf("%s is read as %+v, want it left to the parser of JSON", head, r)
		}
	}
}
