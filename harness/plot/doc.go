// Package plot draws the pictures of a run: throughput against threads, cost
// against the number of active transactions, and the distribution of latencies.
//
// Each variant has the same colour, dash and marker in every picture of a run.
// The colours are those of Okabe and Ito, which the colour-blind can tell apart;
// dash and marker carry the same information for greyscale. Lines are labelled
// at their ends. Whiskers show the interval of the median, hollow markers stand
// for figures in doubt.
package plot
