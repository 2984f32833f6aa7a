package view

import (
	"fmt"

	"batch.example/batch/journal"
	"batch.example/batch/report"
	"batch.example/batch/results"
)

// bar shows where an attempt's time and money went, step by step.
type bar struct {
	Time, Cost []piece
	Label      string // a text for people who cannot see the bar
}

// piece is a part of a bar. X and Width are in thousandths of the bar.
type piece struct {
	X, Width string
	Class    string
	Step     int
	Title    string
}

// barSize is the length of a bar.
const barSize = 1000

// thinnest is the width below which a piece is merged with the next one.
const thinnest = 0.7

// newBar returns the bar of steps, beside which u are calls of unknown cost; nil if they took neither time nor money.
func newBar(marks []journal.Mark, u results.Unanswered) *bar {
	var seconds, cost, model, waits, commands float64
	for _, m := range marks {
		seconds += m.Seconds + m.Commands
		cost += m.Cost + m.SummaryCost
		model, waits, commands = model+m.Seconds-m.Waited, waits+m.Waited, commands+m.Commands
	}
	if seconds <= 0 && cost <= 0 {
		return nil
	}
	b := &bar{Label: fmt.Sprintf("Time: model %s, waits %s, commands %s. Cost: %s.",
		report.Seconds(model), report.Seconds(waits), report.Seconds(commands), report.UpTo(cost, u))}
	time, money := strip{whole: seconds}, strip{whole: cost}
	for _, m := range marks {
		title := fmt.Sprintf("step %d: ", m.Number)
		time.add(m.Seconds-m.Waited, "model", m.Number, title+"model "+report.Seconds(m.Seconds-m.Waited))
		time.add(m.Waited, "wait", m.Number, title+"waited "+report.Seconds(m.Waited))
		time.add(m.Commands, "command", m.Number, title+"commands "+report.Seconds(m.Commands))
		money.add(m.Cost+m.SummaryCost, "cost", m.Number, title+report.Dollars(m.Cost+m.SummaryCost))
	}
	b.Time, b.Cost = time.pieces, money.pieces
	return b
}

// strip collects the pieces of one bar.
type strip struct {
	whole  float64
	at     float64 // where the next piece begins
	from   float64 // where the pending piece begins, which is too thin so far
	pieces []piece
}

func (s *strip) add(value float64, class string, step int, title string) {
	if s.whole <= 0 || value <= 0 {
		return
	}
	s.at += value / s.whole * barSize
	if s.at-s.from < thinnest {
		return
	}
	s.pieces = append(s.pieces, piece{fmt.Sprintf("%.2f", s.from), fmt.Sprintf("%.2f", s.at-s.from-0.2), class, step, title})
	s.from = s.at
}
