/* Threads that share out the tasks of a kernel: they sleep while there is none, never touch Python, and never hang a
 * forked child.
 *
 * A caller publishes a job, works on it like everybody else, and closes it; whoever has not begun by then does not begin
 * any more, so that a caller waits for work in progress, never for a thread to wake up. Whoever has just worked watches
 * for the next job for fifty microseconds, since waking a processor takes about as long; a caller waits for the last
 * worker in the same way. Then both sleep. */
#ifndef QC_POOL_H
#define QC_POOL_H

#include <stdint.h>
#include <time.h>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <process.h>
#include <windows.h>
typedef SRWLOCK qc_mutex;
typedef CONDITION_VARIABLE qc_condition;
#define QC_MUTEX SRWLOCK_INIT
#define QC_CONDITION CONDITION_VARIABLE_INIT
#define qc_lock AcquireSRWLockExclusive
#define qc_unlock ReleaseSRWLockExclusive
#define qc_wake_all WakeAllConditionVariable
#define qc_wake WakeConditionVariable
#define qc_sleep(condition, mutex) SleepConditionVariableSRW(condition, mutex, INFINITE, 0)
static inline int64_t qc_nanoseconds(void) {
    LARGE_INTEGER count, rate;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&rate);
    return (int64_t)((double)count.QuadPart * 1e9 / (double)rate.QuadPart);
}
#else
#include <pthread.h>
#include <signal.h>
typedef pthread_mutex_t qc_mutex;
typedef pthread_cond_t qc_condition;
#define QC_MUTEX PTHREAD_MUTEX_INITIALIZER
#define QC_CONDITION PTHREAD_COND_INITIALIZER
#define qc_lock pthread_mutex_lock
#define qc_unlock pthread_mutex_unlock
#define qc_wake_all pthread_cond_broadcast
#define qc_wake pthread_cond_signal
#define qc_sleep pthread_cond_wait
static inline int64_t qc_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
#endif

#define QC_WATCH 50000 /* nanoseconds */
#define QC_MOST_WORKERS 1024

#define qc_read_now(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)

/* Tasks first..last-1 of a kernel; the outcome is what it writes where `work` points. */
typedef void (*qc_body)(void *work, int64_t first, int64_t last);

typedef struct qc_job {
    qc_body body;
    void *work;
    int64_t next, last, step;
    int wanted, helpers; /* who may still begin; who has begun and not ended */
    struct qc_job *following;
} qc_job;

static struct {
    qc_mutex lock;
    qc_condition posted, ended;
    qc_job *jobs;
    int workers, sleeping, prepared;
    uint32_t turn; /* counts jobs, for those who watch */
} qc_pool = {QC_MUTEX, QC_CONDITION, QC_CONDITION, 0, 0, 0, 0, 0};

static inline void qc_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* For as long as the condition holds, but only for a short while. */
#define QC_WATCH_WHILE(condition)                                         \
    for (const int64_t until = qc_nanoseconds() + QC_WATCH; (condition) && qc_nanoseconds() < until;) qc_pause()

static inline void qc_work_on(qc_job *job) {
    for (;;) {
        int64_t first = __atomic_fetch_add(&job->next, job->step, __ATOMIC_RELAXED);
        if (first >= job->last) return;
        job->body(job->work, first, job->last - first < job->step ? job->last : first + job->step);
    }
}

static inline qc_job *qc_open_job(void) {
    qc_job *job = qc_pool.jobs;
    while (job && !job->wanted) job = job->following;
    return job;
}

static inline void qc_serve(void) {
    qc_lock(&qc_pool.lock);
    for (;;) {
        qc_job *job = qc_open_job();
        if (!job) {
            qc_pool.sleeping++;
            qc_sleep(&qc_pool.posted, &qc_pool.lock);
            qc_pool.sleeping--;
            continue;
        }
        job->wanted--;
        __atomic_add_fetch(&job->helpers, 1, __ATOMIC_RELAXED);
        qc_unlock(&qc_pool.lock);
        qc_work_on(job);
        qc_lock(&qc_pool.lock);
        uint32_t turn = qc_pool.turn;
        /* The caller may return as soon as this is 0: the job is not touched afterwards. */
        if (__atomic_sub_fetch(&job->helpers, 1, __ATOMIC_RELEASE) == 0) qc_wake_all(&qc_pool.ended);
        if (qc_open_job()) continue;
        qc_unlock(&qc_pool.lock);
        QC_WATCH_WHILE(qc_read_now(&qc_pool.turn) == turn);
        qc_lock(&qc_pool.lock);
    }
}

#if defined(_WIN32)
static unsigned __stdcall qc_worker(void *nothing) {
    (void)nothing;
    qc_serve();
    return 0;
}

static inline int qc_start_worker(void) {
    uintptr_t thread = _beginthreadex(NULL, 1 << 20, qc_worker, NULL, 0, NULL);
    if (thread) CloseHandle((HANDLE)thread);
    return thread != 0;
}
#else
static void *qc_worker(void *nothing) {
    qc_serve();
    return nothing;
}

/* A forked child has none of its parent's workers, and locks in whatever state they were. */
static void qc_forget_workers(void) {
    pthread_mutex_init(&qc_pool.lock, NULL);
    pthread_cond_init(&qc_pool.posted, NULL);
    pthread_cond_init(&qc_pool.ended, NULL);
    qc_pool.jobs = NULL;
    qc_pool.workers = qc_pool.sleeping = 0;
}

/* Signals are for the threads of Python. The stack holds the strips of the largest kernel. */
static inline int qc_start_worker(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int started = pthread_create(&thread, &attributes, qc_worker, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}
#endif

/* Start workers up to `wanted`, as far as the system has threads. With the lock held. */
static inline void qc_start_workers(int wanted) {
#if !defined(_WIN32)
    if (!qc_pool.prepared) qc_pool.prepared = 1, pthread_atfork(NULL, NULL, qc_forget_workers);
#endif
    while (qc_pool.workers < wanted && qc_pool.workers < QC_MOST_WORKERS && qc_start_worker()) qc_pool.workers++;
}

static inline void qc_close_job(qc_job *job) {
    qc_job **place = &qc_pool.jobs;
    qc_lock(&qc_pool.lock);
    while (*place != job) place = &(*place)->following;
    *place = job->following;
    qc_unlock(&qc_pool.lock);
    QC_WATCH_WHILE(qc_read_now(&job->helpers));
}

/* Run tasks first..last-1 in steps, on at most `threads` threads, this one included. */
static inline void qc_share(qc_body body, void *work, int64_t first, int64_t last, int64_t step, int threads) {
    int64_t steps = step > 0 ? (last - first + step - 1) / step : 1;
    int helpers = (int)(steps < threads ? steps : threads) - 1;
    if (helpers < 1) {
        body(work, first, last);
        return;
    }
    qc_job job = {body, work, first, last, step, helpers, 0, NULL};
    qc_lock(&qc_pool.lock);
    qc_start_workers(helpers);
    job.following = qc_pool.jobs;
    qc_pool.jobs = &job;
    __atomic_add_fetch(&qc_pool.turn, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < helpers && i < qc_pool.sleeping; i++) qc_wake(&qc_pool.posted);
    qc_unlock(&qc_pool.lock);
    qc_work_on(&job);
    qc_close_job(&job);
    if (qc_read_now(&job.helpers)) {
        qc_lock(&qc_pool.lock);
        while (job.helpers) qc_sleep(&qc_pool.ended, &qc_pool.lock);
        qc_unlock(&qc_pool.lock);
    }
}

#endif
