// Package plots draws the figures of a report as SVG.
//
// The SVG takes its colours and font sizes from the style sheet of the page that
// it stands in: instead of colours it carries classes ([Ink]), so that one drawing
// serves light and dark, screen and print, wide and narrow.
package plots
