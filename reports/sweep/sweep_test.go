package sweep_test

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"locklab/reports/sweep"
)

func points() (all []sweep.Point) {
	for _, lock := range []string{"multiphase", "lamport", "service"} {
		for _, zones := range []int{3, 10} {
			for _, peers := range []int{2, 10, 1000} {
				p := sweep.Point{Lock: lock, Peers: peers, Zones: zones, Messages: float64(3 * peers), Acquire: sweep.Spread{P50: time.Millisecond, P99: 2 * time.Millisecond}}
				if lock != "service" {
					p.Contended = sweep.Spread{P50: time.Duration(peers) * time.Millisecond}
				}
				all = append(all, p)
			}
		}
	}
	return all
}

func TestCSV(t *testing.T) {
	text, err := sweep.CSV(points())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 1+18 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	cell := func(row int, name string) string {
		for i, h := range rows[0] {
			if h == name {
				return rows[row][i]
			}
		}
		t.Fatalf("no column %s", name)
		return ""
	}
	if cell(2, "peers") != "10" || cell(2, "messages") != "30" || cell(2, "acquire_p50_ms") != "1" || cell(2, "contended_p50_ms") != "10" {
		t.Errorf("%v\n%v", rows[0], rows[2])
	}
	if got := cell(18, "contended_p50_ms"); got != "" {
		t.Errorf("a figure that does not exist is %q", got)
	}
}

func TestDraw(t *testing.T) {
	for i, f := range sweep.Figures() {
		svg := sweep.Draw(f, points())
		d := xml.NewDecoder(strings.NewReader(string(svg)))
		words := ""
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", f.Title, err)
			}
			switch token := token.(type) {
			case xml.CharData:
				words += string(token) + "\n"
			case xml.StartElement:
				for _, a := range token.Attr {
					if a.Name.Local == "aria-label" {
						words += a.Value + "\n"
					}
				}
			}
		}
		for _, want := range []string{f.Title, "3 zones", "10 zones", "peers", "1000", "to 1000: in 3 zones"} {
			if !strings.Contains(words, want) {
				t.Errorf("%s: no %q among its words", f.Title, want)
			}
		}
		if has := strings.Contains(words, "lamport"); has != (i == 0 || i == 2 || i == 3) {
			t.Errorf("%s: a line for lamport %v", f.Title, has)
		}
		if strings.ContainsAny(string(svg), "#∞") || strings.Contains(string(svg), "NaN") {
			t.Errorf("%s: it has colours of its own, or what is no number", f.Title)
		}
	}
}
