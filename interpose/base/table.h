/* A table of fixed size from machine words to pointers, for handles.  Any thread, also on the record path: no lock, no
 * allocation.  A zeroed table is empty.  Keys 0 and UINT64_MAX are not allowed.
 * The analysis has a hash map of its own (trace/util/hash_map.h), which allocates and is for one thread. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define IPO_TABLE_SIZE   16384u
#define IPO_TABLE_PROBES 64u

struct ipo_table {
    _Atomic uint64_t key[IPO_TABLE_SIZE];
    _Atomic(void *) value[IPO_TABLE_SIZE];
};

/* The place that is tried for a key as number `probe`. */
static inline uint32_t ipo_table_slot(uint64_t key, uint32_t probe)
{
    return ((uint32_t)((key * 0x9e3779b97f4a7c15u) >> 40) + probe) % IPO_TABLE_SIZE;
}

/* The value of a key; NULL where the table does not have it.  The pointer is the caller's who put it. */
static inline void *ipo_table_get(struct ipo_table *table, uint64_t key)
{
    for (uint32_t probe = 0; probe < IPO_TABLE_PROBES; probe++) {
        uint32_t at = ipo_table_slot(key, probe);
        if (atomic_load_explicit(&table->key[at], memory_order_acquire) == key)
            return atomic_load_explicit(&table->value[at], memory_order_acquire);
    }
    return NULL;
}

/* Sets the value of a key, in its old place if it has one.  1; 0: there is no room. */
static inline int ipo_table_put(struct ipo_table *table, uint64_t key, void *value)
{
    for (int again = 0; again < 2; again++)
        for (uint32_t probe = 0; probe < IPO_TABLE_PROBES; probe++) {
            uint32_t at = ipo_table_slot(key, probe);
            uint64_t there = atomic_load_explicit(&table->key[at], memory_order_relaxed);
            if (there == key) {
                atomic_store_explicit(&table->value[at], value, memory_order_release);
                return 1;
            }
            if (again == 0 || there != 0)
                continue;
            /* The key comes last: who finds it must not read the value of the key before. */
            if (!atomic_compare_exchange_strong(&table->key[at], &there, UINT64_MAX))
                continue;
            atomic_store_explicit(&table->value[at], value, memory_order_release);
            atomic_store_explicit(&table->key[at], key, memory_order_release);
            return 1;
        }
    return 0;
}

/* Removes a key; its place is free for others.  A key that is not there is no error. */
static inline void ipo_table_remove(struct ipo_table *table, uint64_t key)
{
    for (uint32_t probe = 0; probe < IPO_TABLE_PROBES; probe++) {
        uint32_t at = ipo_table_slot(key, probe);
        uint64_t there = key;
        if (atomic_compare_exchange_strong(&table->key[at], &there, 0))
            return;
    }
}
