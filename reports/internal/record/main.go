// Command record makes a moving picture of the live page's map, for the README:
//
//	go run ./reports/internal/record [-every 500ms] URL out.svg
//
// It follows the run that is shown there from the first measured second to the end of the
// comparison. The picture is the page's own drawings one after the other, with its style.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/locks/clock"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own, for make recording
	}
}

// frame is the map with what stands above it.
type frame struct{ drawing, left, right string }

func run() error {
	every := flag.Duration("every", 500*time.Millisecond, "least time between two pictures")
	flag.Parse()
	if flag.NArg() != 2 {
		return errors.New("want URL and out.svg")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	url := strings.TrimSuffix(flag.Arg(0), "/")
	style, err := get(ctx, url+"/live.css")
	for err != nil && clock.Sleep(ctx, 100*time.Millisecond) == nil { // it may not be there yet
		style, err = get(ctx, url+"/live.css")
	}
	if err != nil {
		return err
	}
	defer func() { _ = style.Close() }()
	css, err := io.ReadAll(style)
	if err != nil {
		return err
	}
	stream, err := get(ctx, url+"/events?lang=en")
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	frames, err := follow(stream, int64(*every))
	if err != nil {
		return err
	}
	if len(frames) == 0 {
		return errors.New("nothing was measured while this looked: want the address of a run that begins")
	}
	return os.WriteFile(flag.Arg(1), movie(css, frames, *every), 0o644) //nolint:gosec // a picture for everybody
}

func get(ctx context.Context, url string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return response.Body, nil
}

// follow collects frames while something is measured, until the stream ends.
func follow(stream io.Reader, everyNS int64) (frames []frame, err error) {
	seen := map[string]string{}
	next := int64(0)
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return frames, nil
		} else if err != nil {
			return nil, err
		}
		data, is := strings.CutPrefix(line, "data: [")
		if !is {
			continue
		}
		var parts []struct{ ID, HTML string }
		if err := json.Unmarshal([]byte("["+data), &parts); err != nil {
			return nil, fmt.Errorf("read a frame: %w", err)
		}
		for _, p := range parts {
			seen[p.ID] = p.HTML
		}
		if now := clock.Mono(); now >= next && strings.Contains(seen["now"], " seconds") {
			next = now + everyNS
			frames = append(frames, frame{seen["map"], words(seen["now"]), words(lastTile(seen["figures"]))})
		}
	}
}

// words are what a piece of the page says.
func words(piece string) string {
	plain := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(piece, " ")
	return strings.Join(strings.Fields(html.UnescapeString(plain)), " ")
}

// lastTile is the figure that the workload counts.
func lastTile(figures string) string { return figures[max(strings.LastIndex(figures, "<p"), 0):] }

// movie shows the frames one after the other, again and again.
func movie(css []byte, frames []frame, every time.Duration) []byte {
	const head = 30
	var out bytes.Buffer
	width, height := 980.0, 300.0
	if m := regexp.MustCompile(`viewBox="0 0 ([\d.]+) ([\d.]+)"`).FindStringSubmatch(frames[0].drawing); m != nil {
		_, _ = fmt.Sscan(m[1]+" "+m[2], &width, &height) // what the pattern let through are numbers
	}
	whole := every * time.Duration(len(frames))
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g"><style>%s
.f { visibility: hidden; animation: f %dms step-end infinite; }
@keyframes f { 0%% { visibility: visible; } %.3f%% { visibility: hidden; } }
svg { background: var(--raised); }
.said { fill: var(--text); font: 600 17px var(--sans); }`, width, height+head, width, css, whole.Milliseconds(), 100/float64(len(frames)))
	for i := range frames {
		fmt.Fprintf(&out, "\n.f%d { animation-delay: %dms; }", i, (every * time.Duration(i)).Milliseconds())
	}
	out.WriteString("</style>\n")
	for i, f := range frames {
		fmt.Fprintf(&out, `<g class="live f f%d"><text class="said" x="2" y="18">%s</text><text class="said" x="%g" y="18" text-anchor="end">%s</text>`, i, html.EscapeString(f.left), width-2, html.EscapeString(f.right))
		drawing := strings.Replace(f.drawing, "<svg ", fmt.Sprintf(`<svg y="%d" width="%g" height="%g" `, head, width, height), 1)
		out.WriteString(drawing + "</g>\n")
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}
