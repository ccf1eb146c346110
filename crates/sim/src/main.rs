//! Runs the simulation, seed after seed; shortens what fails and says how to replay it.

use clap::Parser;
use sim::plan::Plan;
use sim::{Reach, run, shorten};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Simulates a whole engine on a machine that misbehaves, and checks its promises.
#[derive(Parser)]
#[command(name = "sim")]
struct Arguments {
    /// How many seeds to run.
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first one.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Runs this one seed only.
    #[arg(long)]
    seed: Option<u64>,
    /// Of that seed, only the steps with these numbers: `0,3,17-20`.
    #[arg(long, requires = "seed")]
    only: Option<String>,
    /// Prints what happens.
    #[arg(long)]
    trace: bool,
    /// Goes on for so long, whatever the number of seeds.
    #[arg(long)]
    minutes: Option<u64>,
    /// Prints which things occurred, and how often.
    #[arg(long)]
    reach: bool,
}

/// Most runs that are spent on making a failure short.
const SHORTENING_RUNS: u32 = 3_000;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.seed {
        Some(seed) => replay(seed, &arguments),
        None => search(&arguments),
    }
}

fn replay(seed: u64, arguments: &Arguments) -> ExitCode {
    let mut plan = Plan::new(seed);
    if let Some(only) = &arguments.only {
        match parse_numbers(only) {
            Some(numbers) => plan = plan.only(&numbers),
            None => {
                eprintln!("--only takes numbers and ranges of steps, like 0,3,17-20");
                return ExitCode::FAILURE;
            }
        }
    }
    let run = run(&plan, None, arguments.trace);
    run.lines.iter().for_each(|line| println!("{line}"));
    if arguments.reach {
        print_reach(&run.reach);
    }
    match run.failure {
        None => {
            println!("seed {seed}: every promise kept, trace {:016x}", run.hash);
            ExitCode::SUCCESS
        }
        Some(failure) if arguments.only.is_some() => {
            println!("seed {seed}: {}", failure.promise);
            ExitCode::FAILURE
        }
        Some(failure) => {
            report(seed, &plan, &failure.promise);
            ExitCode::FAILURE
        }
    }
}

fn search(arguments: &Arguments) -> ExitCode {
    let began = Instant::now();
    let deadline = arguments.minutes.map(|minutes| began + Duration::from_secs(60 * minutes));
    let mut said = began;
    let mut reach = Reach::new();
    let mut done = 0;
    while deadline.map_or(done < arguments.seeds, |deadline| Instant::now() < deadline) {
        let seed = arguments.from + done;
        let plan = Plan::new(seed);
        let run = run(&plan, None, false);
        if let Some(failure) = run.failure {
            report(seed, &plan, &failure.promise);
            return ExitCode::FAILURE;
        }
        for (what, count) in run.reach {
            *reach.entry(what).or_default() += count;
        }
        done += 1;
        if said.elapsed() > Duration::from_secs(5) {
            said = Instant::now();
            eprintln!("{done} seeds, {:.0} a second", done as f64 / began.elapsed().as_secs_f64());
        }
    }
    if arguments.reach {
        print_reach(&reach);
    }
    println!("{done} seeds, every promise kept, {:.0} seeds a second", done as f64 / began.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}

fn report(seed: u64, plan: &Plan, promise: &str) {
    println!("seed {seed} breaks a promise: {promise}");
    println!("making it shorter ...");
    let short = shorten(plan, promise, None, SHORTENING_RUNS);
    let run = run(&short, None, true);
    run.lines.iter().for_each(|line| println!("{line}"));
    if let Some(failure) = run.failure {
        println!("{}", failure.promise);
    }
    let numbers: Vec<usize> = short.steps.iter().map(|(number, _)| *number).collect();
    println!("{} of {} steps. To replay:", short.steps.len(), plan.steps.len());
    println!("cargo run --release -p sim -- --seed {seed} --trace --only {}", show_numbers(&numbers));
}

fn print_reach(reach: &Reach) {
    for (what, count) in reach {
        println!("{count:>10}  {what}");
    }
}

fn show_numbers(numbers: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let show = |(first, last): &(usize, usize)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(show).collect::<Vec<_>>().join(",")
}

fn parse_numbers(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        numbers.extend(first..=last);
    }
    Some(numbers)
}
