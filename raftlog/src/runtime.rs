//! The async runtime as openraft sees it: tokio, with randomness that a simulation can seed.
//!
//! Election timeouts are drawn from it, so a run that is to be repeated must own the numbers.

#![allow(
    deprecated,
    reason = "the runtime's re-export is deprecated upstream, and the crate it moved to is no dependency of ours"
)]

use std::cell::Cell;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::LazyLock;
use std::time::Duration;

use openraft::impls::TokioRuntime;
use openraft::{AsyncRuntime, Instant, OptionalSend};
use rand::Rng;
use rand::rngs::ThreadRng;

thread_local! {
    static SEEDED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// From now on, random numbers that the log draws on this thread follow from `seed`; `None`: from the system again. For
/// simulations, which run whole clusters on one thread.
pub fn seed_randomness(seed: Option<u64>) {
    SEEDED.set(seed);
}

/// SplitMix64: the next number of a seeded thread.
fn next_seeded() -> Option<u64> {
    let state = SEEDED.get()?.wrapping_add(0x9e37_79b9_7f4a_7c15);
    SEEDED.set(Some(state));
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Some(mixed ^ (mixed >> 31))
}

/// Random numbers of this thread.
pub(crate) struct LogRng(ThreadRng);

impl rand::TryRng for LogRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.next_u64() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(next_seeded().unwrap_or_else(|| self.0.next_u64()))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for part in bytes.chunks_mut(8) {
            let number = self.next_u64().to_le_bytes();
            part.copy_from_slice(&number[..part.len()]);
        }
        Ok(())
    }
}

/// The moments at which sleeping groups wake lie so far apart.
const WAKE_GRID: Duration = Duration::from_millis(20);

/// The deadline, put off to the next moment of a grid: groups that wait for their ticks wake together, and a node of many idle
/// groups wakes as often as one of a few. What is nearer than a step of the grid stays where it is, and so does everything in
/// a simulation, whose clocks have no common start.
fn together(deadline: Moment) -> Moment {
    static START: LazyLock<Moment> = LazyLock::new(Moment::now);
    let start = *START;
    if SEEDED.get().is_some() || deadline < Moment::now() + WAKE_GRID {
        return deadline;
    }
    let step_nanos = WAKE_GRID.as_nanos();
    let more_nanos = step_nanos - (deadline - start).as_nanos() % step_nanos;
    deadline + Duration::from_nanos(u64::try_from(more_nanos).unwrap_or(0))
}

/// A moment of the runtime's monotonic clock.
type Moment = <TokioRuntime as AsyncRuntime>::Instant;

/// Tokio, with [`LogRng`].
#[derive(Debug)]
pub(crate) struct LogRuntime(TokioRuntime);

impl AsyncRuntime for LogRuntime {
    type JoinError = <TokioRuntime as AsyncRuntime>::JoinError;
    type JoinHandle<T: OptionalSend + 'static> = <TokioRuntime as AsyncRuntime>::JoinHandle<T>;
    type Sleep = <TokioRuntime as AsyncRuntime>::Sleep;
    type Instant = <TokioRuntime as AsyncRuntime>::Instant;
    type TimeoutError = <TokioRuntime as AsyncRuntime>::TimeoutError;
    type Timeout<R, T: Future<Output = R> + OptionalSend> =
        <TokioRuntime as AsyncRuntime>::Timeout<R, T>;
    type ThreadLocalRng = LogRng;
    type Mpsc = <TokioRuntime as AsyncRuntime>::Mpsc;
    type Watch = <TokioRuntime as AsyncRuntime>::Watch;
    type Oneshot = <TokioRuntime as AsyncRuntime>::Oneshot;
    type Mutex<T: OptionalSend + 'static> = <TokioRuntime as AsyncRuntime>::Mutex<T>;

    fn spawn<T>(future: T) -> Self::JoinHandle<T::Output>
    where
        T: Future + OptionalSend + 'static,
        T::Output: OptionalSend + 'static,
    {
        TokioRuntime::spawn(future)
    }

    fn sleep(duration: Duration) -> Self::Sleep {
        TokioRuntime::sleep(duration)
    }

    fn sleep_until(deadline: Self::Instant) -> Self::Sleep {
        TokioRuntime::sleep_until(together(deadline))
    }

    fn timeout<R, F: Future<Output = R> + OptionalSend>(
        duration: Duration,
        future: F,
    ) -> Self::Timeout<R, F> {
        TokioRuntime::timeout(duration, future)
    }

    fn timeout_at<R, F: Future<Output = R> + OptionalSend>(
        deadline: Self::Instant,
        future: F,
    ) -> Self::Timeout<R, F> {
        TokioRuntime::timeout_at(deadline, future)
    }

    fn is_panic(join_error: &Self::JoinError) -> bool {
        TokioRuntime::is_panic(join_error)
    }

    fn thread_rng() -> LogRng {
        LogRng(rand::rng())
    }

    fn new(threads: usize) -> Self {
        Self(TokioRuntime::new(threads))
    }

    fn block_on<F, T>(&mut self, future: F) -> T
    where
        F: Future<Output = T>,
    {
        self.0.block_on(future)
    }

    fn spawn_blocking<F, T>(work: F) -> impl Future<Output = Result<T, io::Error>> + Send
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        TokioRuntime::spawn_blocking(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_deadlines_fall_together_and_near_ones_stay() {
        let now = Moment::now();
        let near = now + WAKE_GRID / 2;
        assert_eq!(together(near), near);
        let far: Vec<_> = (2_000..2_100u64)
            .map(|ms| now + Duration::from_millis(ms))
            .collect();
        let woken: std::collections::BTreeSet<_> = far.iter().map(|at| together(*at)).collect();
        assert!(woken.len() <= 6, "{}", woken.len());
        assert!(
            far.iter()
                .all(|at| together(*at) >= *at && together(*at) - *at <= WAKE_GRID)
        );
        seed_randomness(Some(1));
        let kept = far.iter().all(|at| together(*at) == *at);
        seed_randomness(None);
        assert!(kept);
    }

    #[test]
    fn a_seed_fixes_the_numbers_of_its_thread() {
        let draw = || {
            seed_randomness(Some(7));
            let mut rng = LogRuntime::thread_rng();
            let numbers = [rng.next_u64(), u64::from(rng.next_u32()), rng.next_u64()];
            seed_randomness(None);
            numbers
        };
        assert_eq!(draw(), draw());
        let mut rng = LogRuntime::thread_rng();
        assert_ne!(rng.next_u64(), rng.next_u64());
    }
}
